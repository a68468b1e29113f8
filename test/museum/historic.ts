import {
  inChanges,
  inClients,
  inLiveness,
  inScript,
  inStore,
  simulation,
  test,
  type Exhibit,
} from './exhibit.js';

/** Failures that distributed locks had, and how each would look here. */
export const HISTORIC: readonly Exhibit[] = [
  {
    of: 'timeout drift: deadlines of waiters add up (Redisson 1104, 2099)',
    what: "a heartbeat adds a window to its client's last deadline instead of to the present",
    mutations: [
      inClients(
        "redis.call('ZADD', clients, now + WINDOW, client)",
        "redis.call('ZADD', clients, math.max(now, deadline or 0) + WINDOW, client)",
      ),
    ],
    proof: simulation('kill'),
  },
  {
    of: 'live waiter evicted after a long wait (Redisson 3004)',
    what: 'a heartbeat does not say that its client is alive',
    mutations: [inScript('heartbeat', '  markAlive(true)\n', '')],
    proof: simulation('mute', 'delay'),
  },
  {
    of: 'dead waiters block the line (Redisson 3166 to 3202, 4323)',
    what: 'a waiter whose window is over stays in line',
    mutations: [inLiveness('(deadline == 0 or not inGrace())', 'deadline == 0')],
    proof: test(
      'integration/script-rules.spec.ts',
      'a silent client is dropped when its window is over, and a live one behind it is served (R8)',
    ),
  },
  {
    of: 'lost message (Redisson 5761, 763, 5070; ioredis 2187)',
    what: 'a grant is learnt by its message only',
    mutations: [
      inStore(
        'view/replies.ts',
        'if (reply.grant) applyGrant',
        "if (reply.grant && reply.status !== 'gone') applyGrant",
      ),
    ],
    proof: simulation('mute'),
  },
  {
    of: 'lost message: ready, but subscribed to nothing for ever (ioredis 2187)',
    what: 'a subscription that was refused is not tried again',
    mutations: [
      {
        file: 'stores/redis-client/connection/subscriber.ts',
        from: 'this.rebuildAfter(RESUBSCRIBE_DELAY)',
        to: 'clearTimeout(this.retry)',
      },
    ],
    proof: simulation('refuse-subscribe'),
  },
  {
    of: 'lease expiry without a wake-up (Redisson 3829, 3254, 5503)',
    what: 'no client looks after a lease that ended',
    mutations: [inScript('heartbeat', '  settle()\n  if listShares then', '  if listShares then')],
    proof: simulation('kill'),
  },
  {
    of: 'double hold after a re-sent command (Redisson 7367)',
    what: 'a re-sent acquire of the holder is granted once more',
    mutations: [
      inScript(
        'acquire',
        "if holds(sequence) then\n  return reply('GRANTED')\nend\nif releasedRequest",
        "if holds(sequence) then\n  grant(client, requests .. ',' .. sequence, 2, LEASE, text)\n  return reply('GRANTED')\nend\nif releasedRequest",
      ),
    ],
    proof: simulation('cut', 'duplicate'),
  },
  {
    of: 'double hold after a re-sent command (Redisson 7367)',
    what: 'a duplicate acquire of a released grant takes the lock for no caller',
    mutations: [
      inScript('acquire', ' and releasedRequest ~= me\n', '\n'),
      inScript('acquire', 'if releasedRequest == me then', 'if false then'),
    ],
    proof: test(
      'integration/script-rules.spec.ts',
      'a duplicate acquire of a released grant is answered DONE and takes nothing (M9)',
    ),
  },
  {
    of: 'delayed release frees the lock of another client (Redisson 4871; Kleppmann)',
    what: 'a release names its client instead of its grant',
    mutations: [inScript('release', 'holder == client and token == ARGV[2]\n', 'holder == client\n')],
    proof: simulation('duplicate', 'cut'),
  },
  {
    of: 'delayed renewal revives the dead (Redisson 1966, 1626)',
    what: 'a renewal does not ask whether the grant is still there',
    mutations: [
      inScript(
        'heartbeat',
        'if held and holder == client and token == ARGV[3] and leaseEnd > now then',
        "if ARGV[3] ~= '0' then\n  if not held or token ~= ARGV[3] then\n    grant(client, '1', 1, 0, '')\n  end",
      ),
    ],
    proof: simulation('pause', 'delay', 'server-step', 'force-release'),
  },
  {
    of: 'watchdog that outlives its release (Redisson 7272, 5115)',
    what: 'a grant that no call waits for any more is kept and renewed',
    mutations: [
      inStore('view/grant.ts', 'if (!holder) return finish(view, batch, ended);', 'if (!holder) return;'),
    ],
    proof: simulation('duplicate', 'cut'),
  },
  {
    of: 'watchdog that outlives its store (leaked timers; Redisson 7251, node-redlock 369)',
    what: 'timers that were stopped take new tasks',
    mutations: [{ file: 'core/runtime/timers.ts', from: 'if (this.stopped) return;', to: '' }],
    proof: test('unit/core/runtime/timers.spec.ts', 'takes nothing any more once it has stopped'),
  },
  {
    of: 'watchdog that outlives its store (leaked timers; Redisson 7251, node-redlock 369)',
    what: 'the timer stays when the timers were stopped',
    mutations: [
      {
        file: 'core/runtime/timers.ts',
        from: 'this.stopped = true;\n    clearTimeout(this.timer);',
        to: 'this.stopped = true;',
      },
    ],
    proof: simulation(),
  },
  {
    of: 'watchdog that dies after one error (Redisson 775, 2515, 3194, 3712)',
    what: 'after a failed heartbeat there is no other',
    mutations: [
      inStore(
        'view/heartbeat.ts',
        'view.nextBeat = Math.min(view.nextBeat, view.now.monotonic + pause);',
        'view.nextBeat = Infinity;',
      ),
    ],
    // Not by simulation: a connection that comes back asks for a heartbeat of its own.
    proof: test(
      'unit/redis/view/heartbeat.spec.ts',
      'a failed heartbeat makes the hold uncertain and is tried again',
    ),
  },
  {
    of: 'queue and deadlines out of step: a script fails (Redisson 4153, 5989, 2513)',
    what: 'a waiter without a deadline is compared with nil',
    mutations: [
      inLiveness(
        '  if not deadline and another then\n    -- Where its record',
        '  if false then\n    -- Where its record',
      ),
    ],
    proof: simulation('evict'),
  },
  {
    of: 'queue and deadlines out of step: no waiter is ever served (Redisson 6434)',
    what: 'a waiter without a deadline is neither served nor dropped',
    mutations: [
      inLiveness(
        '    if not text then\n      return { verdict = DEAD }',
        '    if not text then\n      return { verdict = SUSPECT, suspectSince = micros, markedAt = now }',
      ),
    ],
    proof: test(
      'integration/script-dead-waiters.spec.ts',
      'a lock is free behind a client that was silent for so long that its entry was swept',
    ),
  },
  {
    of: 'queue and deadlines out of step: the line is lost (Redisson 4595, 6150)',
    what: 'a heartbeat does not look whether its waiters are still in line',
    mutations: [inScript('heartbeat', "return sequence ~= '' and not", 'return false and not')],
    proof: simulation('evict'),
  },
  {
    of: 'expired lock handed out after a long wait (node-redlock 296; etcd 11456)',
    what: 'a lease counts from the receipt of the answer',
    mutations: [
      {
        file: 'stores/redis-client/commands/script-commands.ts',
        from: 'this.read(answer, sent)',
        to: 'this.read(answer, { ...sent, sentAt: now() })',
      },
    ],
    proof: test(
      'integration/watchdog.spec.ts',
      'counts a lease from the sending of the command that was answered (M1)',
    ),
  },
  {
    of: 'expired lock handed out after a long wait (node-redlock 296; etcd 11456)',
    what: 'a message is taken for fresh however old it is',
    mutations: [inStore('redis-lock-store.ts', 'clock.ageAtMost(message.stamp, since)', '0')],
    proof: simulation('delay', 'pause'),
  },
  {
    of: 'holder that does not know that its lease is over (Curator 604; node-redlock 253)',
    what: 'no margin: the holder believes longer than the server',
    mutations: [
      inStore('view/lease.ts', 'return safetyMargin(leaseTime ??', 'return -safetyMargin(leaseTime ??'),
    ],
    proof: simulation('partition', 'cut', 'stall'),
  },
  {
    of: 'holder that does not know that its lease is over (node-redlock 253)',
    what: 'a lease is over only when an answer says so',
    // Both the holder's look at its lease and that of its line.
    mutations: [
      {
        file: 'core/port/lease.ts',
        from: 'if (this.active && this.remaining() <= 0) this',
        to: 'if (false) this',
      },
      inStore('view/machine.ts', 'if (batch && remaining(view, batch) <= 0)', 'if (false)'),
    ],
    proof: test('integration/watchdog.spec.ts', 'lets a lease run out that cannot be renewed'),
  },
  {
    of: 'late grant by a frozen old primary (Sentinel; ioredis 1314, 559)',
    what: 'commands carry no deadline, neither here nor in Redis',
    mutations: [
      inScript('acquire', 'if now > tonumber(ARGV[2]) then', 'if false then'),
      inScript('acquire', ' and stampMs <= ARGV[2]\n', '\n'),
      {
        file: 'stores/redis-client/commands/script-sender.ts',
        from: 'if (!this.timer) this.arm(this.limit);',
        to: '',
      },
    ],
    proof: simulation('frozen-primary'),
  },
  {
    of: 'token that goes backwards (INCR after FLUSHALL or failover; Redisson 6510)',
    what: 'tokens are a counter',
    mutations: [
      inChanges('token = lastToken < micros and stamp or', 'token ='),
      inScript('acquire', 'if not STRICT and life and', 'if false and'),
      inScript('release', "local usual = plain and mine and back == '' and", 'local usual = false and'),
    ],
    proof: simulation('flush'),
  },
  {
    of: 'token that goes backwards (clock set back)',
    what: 'a lock at rest forgets its token before the clock has passed it',
    mutations: [inChanges('if lastToken > micros then', 'if false then')],
    proof: simulation('server-step'),
  },
  {
    of: 'entry of a request that gave up stays in line (Redisson 5019)',
    what: 'who gave up is granted the lock all the same',
    mutations: [
      inStore('view/grant.ts', "if (request?.state !== 'waiting') continue;", 'if (!request) continue;'),
    ],
    proof: simulation('mute', 'delay'),
  },
  {
    of: 'keys that never expire (Redisson 4323, 4661, 6510)',
    what: 'the queue has no time to live',
    mutations: [inClients("  redis.call('PEXPIRE', queue, ttl)\n", '')],
    proof: simulation(),
  },
  {
    of: 'force release repeated (a re-sent command takes the lock from the next)',
    what: 'force release ends whatever grant it finds',
    mutations: [
      inScript('force-release', 'leaseEnd > now and token == ARGV[2] then', 'leaseEnd > now then'),
      inScript('force-release', "elseif releasedRequest == 'forced:' .. ARGV[2] then", 'elseif false then'),
    ],
    proof: simulation('duplicate', 'force-release'),
  },
  {
    of: 'unhandled rejection ends the process (ioredis 2187, node-redlock 283)',
    what: 'a failed heartbeat rejects instead of being tried again',
    mutations: [
      inStore(
        'view/heartbeat.ts',
        'view.nextBeat = Math.min(view.nextBeat, view.now.monotonic + pause);',
        "view.nextBeat = Math.min(view.nextBeat, view.now.monotonic + pause);\n  throw new Error('not caught');",
      ),
    ],
    proof: simulation('cut'),
  },
  {
    of: 'user code inside the hold of another flow (a timer carries the context that armed it)',
    what: 'the one timer is armed in the context of whatever schedules',
    mutations: [
      {
        file: 'core/runtime/timers.ts',
        from: 'detached(() => setTimeout(this.work, delay).unref())',
        to: 'setTimeout(this.work, delay).unref()',
      },
    ],
    proof: test('unit/core/runtime/async-contexts.spec.ts', 'runs what is due in no request'),
  },
  {
    of: 'user code inside the hold of another flow (a signal that several flows share)',
    what: 'abort listeners run in the context of the code that aborts the signal',
    mutations: [
      {
        file: 'core/holds/lock-handle.ts',
        from: 'this.caller.runInAsyncScope(runInScope, undefined, this.scope, () => this.controller.abort(reason))',
        to: 'this.controller.abort(reason)',
      },
    ],
    proof: test(
      'unit/core/runtime/async-contexts.spec.ts',
      'of two nested holds runs in the flow of its own handle',
    ),
  },
  {
    of: 'a shutdown takes locks from sections that run (cron jobs, message handlers)',
    what: 'a close waits for no section',
    mutations: [{ file: 'nest/module/fair-lock.module.ts', from: '    await engine?.drain();\n', to: '' }],
    proof: test('nest/shutdown.spec.ts', 'keeps its lock until it has ended'),
  },
];
