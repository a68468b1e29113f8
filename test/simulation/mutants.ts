import type { FaultKind } from './scenario/faults.js';
import type { Mutation } from './world/load-client.js';

/** A historic failure of distributed locks, put back into our code. */
export interface Mutant {
  readonly name: string;
  /** Kinds of faults in which it shows. */
  readonly only: readonly FaultKind[];
  readonly mutations: readonly Mutation[];
}

const SCRIPTS = 'stores/redis/scripts.generated.ts';
const inScripts = (from: string, to: string): readonly Mutation[] => [{ file: SCRIPTS, from, to }];

/** The simulation must notice each of these; `npm run sim -- --mutants` shows that it does. */
export const MUTANTS: readonly Mutant[] = [
  {
    name: 'deadlines of waiters add up, so that a dead one blocks for long',
    only: ['kill'],
    mutations: inScripts(
      "redis.call('ZADD', clients, now + WINDOW, client)",
      "redis.call('ZADD', clients, math.max(now, tonumber(deadline or 0)) + WINDOW, client)",
    ),
  },
  {
    name: 'a heartbeat does not say that its client is alive',
    only: ['mute', 'delay'],
    mutations: inScripts("speak()\nend\nlocal status = 'GONE'", "end\nlocal status = 'GONE'"),
  },
  {
    name: 'a grant is learnt by its message only',
    only: ['mute'],
    mutations: [
      {
        file: 'stores/redis/lock-line.ts',
        from: 'if (answer.grant) this.grant',
        to: "if (answer.grant && answer.status !== 'GONE') this.grant",
      },
    ],
  },
  {
    name: 'nobody looks after a lease that ended',
    only: ['kill'],
    mutations: inScripts('else\nsettle()\nend\nlocal heardBy', 'end\nlocal heardBy'),
  },
  {
    name: 'a grant that nobody waits for is kept and renewed',
    only: ['duplicate', 'cut'],
    mutations: [
      {
        file: 'stores/redis/grant-of-line.ts',
        from: 'if (!entered) return this.over(run);',
        to: 'if (!entered) return Promise.resolve();',
      },
    ],
  },
  {
    name: 'the watchdog gives up after one error',
    only: ['cut', 'crash'],
    mutations: [
      {
        file: 'stores/redis/lock-line.ts',
        from: 'this.nextBeat = performance.now() + RETRY_PAUSE;',
        to: 'this.nextBeat = Infinity;',
      },
    ],
  },
  {
    name: 'the dead lose their deadline but keep their place',
    only: ['kill', 'pause'],
    mutations: inScripts("redis.call('ZREM', queue, unpack(members))\n", ''),
  },
  {
    name: 'a lease counts from the receipt of the answer',
    only: ['delay', 'pause'],
    mutations: [{ file: 'stores/redis/line-commands.ts', from: 'since: sentAt }', to: 'since: now() }' }],
  },
  {
    name: 'a message is taken for fresh however old it is',
    only: ['delay', 'pause'],
    mutations: [
      {
        file: 'stores/redis/redis-lock-store.ts',
        from: 'message.left - this.clock.ageAtMost(message.stamp)',
        to: 'message.left',
      },
    ],
  },
  {
    name: 'tokens are a counter',
    only: ['flush'],
    mutations: inScripts('first = math.max(token, micros - 1) + 1', 'first = token + 1'),
  },
  {
    name: 'a release names its client instead of its grant',
    only: ['duplicate', 'cut'],
    mutations: inScripts('holder == client and first == tonumber(ARGV[2])', 'holder == client'),
  },
  {
    name: 'who was dropped from the line does not come back',
    only: ['cut-subscribers', 'partition', 'pause'],
    mutations: [
      {
        file: 'stores/redis/requests-in-line.ts',
        from: 'return waiter.ticket > 0 && waiter.generation',
        to: 'return false && waiter.generation',
      },
    ],
  },
  {
    name: 'who gave up is granted all the same',
    only: ['mute', 'delay'],
    mutations: [
      {
        file: 'stores/redis/held-run.ts',
        from: 'if (!waiter || waiter.settled) continue;',
        to: 'if (!waiter) continue;',
      },
    ],
  },
  {
    name: 'a broken subscription costs the place at once',
    only: ['cut-subscribers'],
    mutations: inScripts('if micros - doubt >= GRACE * 1000 then', 'if true then'),
  },
];
