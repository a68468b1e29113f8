import { now, type Instant } from '../../core/clock.js';
import type { CommandConnection } from '../redis-client/command-connection.js';
import type { Script } from '../redis-client/script.js';
import type { Subscriber } from '../redis-client/subscriber.js';
import { understand, type Answer, type Wanted } from './answer.js';
import { acquire, forceRelease, heartbeat, inspect, join, leave, release } from './scripts.generated.js';
import type { ScriptRunner } from './replication.js';
import { toCommandFailure, type CommandFailure } from '../redis-client/server-failure.js';
import type { ServerClock } from '../redis-client/server-clock.js';
import type { ServerClocks } from '../redis-client/server-clocks.js';
import { RETENTION, Terms } from './terms.js';
import type { Timing } from './timing.js';

/** Digits of a token, which is a time in µs, where tokens are compared as text. */
const TOKEN_LENGTH = 16;
/** To wait as long as it takes, for the first time, for a lease that is renewed. */
const USUAL_WISH = '- 0 wait -1';

/** The keys of one lock. */
export type LineKeys = readonly [hash: string, queue: string, clients: string];

/** A request as the acquire script needs it. */
export interface Asking {
  readonly sequence: number;
  readonly ticket: number;
  readonly leaseTime: number | undefined;
  readonly tries: boolean;
  readonly maxQueue: number;
  readonly label: string;
}

/** A grant that is over, as the release script needs it. */
export interface Finished {
  /** Token of the run's first request; names the grant. */
  readonly first: number;
  /** Sequence of the run's first request, 0 if it had no turn. */
  readonly head: number;
  /** Sequences of the requests that had no turn. */
  readonly unserved: readonly number[];
}

/** What a heartbeat renews. */
export interface Renewal {
  /** First token of the grant; 0 renews nothing. */
  readonly first: number;
  /** Sequence numbers of its requests. */
  readonly run: readonly number[];
  readonly leaseTime: number | undefined;
  readonly label: string;
  /** How many of them had their turn before the present one. */
  readonly served: number;
}

/** Whoever said a command: one of these is called, once. Neither must throw. */
export interface Hearer {
  answered(answer: Answer): void;
  failed(failure: CommandFailure): void;
}

/** The answer to what is said to a hearer, as a promise. Rejects with a CommandFailure. */
export function answerTo(say: (hearer: Hearer) => void): Promise<Answer> {
  return new Promise((resolve, reject) => say({ answered: resolve, failed: reject }));
}

/** Says the protocol's commands; knows no line. What is said for every lock calls a hearer: a promise each costs more. */
export class LineCommands {
  private order = 0;
  private highestToken = 0;
  private readonly terms: Terms;
  private lastToken = 0;
  private lastTokenText = '0';

  constructor(
    readonly clientId: string,
    private readonly commands: CommandConnection,
    subscriber: Subscriber,
    private readonly clocks: ServerClocks,
    private readonly timing: Timing,
    /** host/pid, without white space */
    where: string,
    /** What strict mode adds to every script that grants or passes on. */
    private readonly guard: string | undefined,
  ) {
    this.terms = new Terms(subscriber, commands, timing, where);
  }

  /** Position of the last command sent. */
  get lastOrder(): number {
    return this.order;
  }

  acquire(keys: LineKeys, asking: Asking, deadline: number, hearer: Hearer): void {
    const sentAt = now();
    const lease = Math.round(asking.leaseTime ?? this.timing.lease);
    const args = [
      `${this.clientId}:${asking.sequence}`,
      this.clockOf(keys).atMost(deadline),
      `${lease} ${asking.label}`,
      lease + RETENTION,
      `${this.textOf(this.highestToken).padStart(TOKEN_LENGTH, '0')} ${wishOf(asking)} ${this.terms.at(sentAt.monotonic)}`,
    ];
    this.say(acquire, keys, args, sentAt, hearer, { run: [asking.sequence], left: lease });
  }

  /** @param first sequence of the first of `count` requests without a gap */
  join(keys: LineKeys, first: number, count: number, deadline: number, hearer: Hearer): void {
    const sentAt = now();
    const args = [
      this.clientId,
      first,
      count,
      this.clockOf(keys).atMost(deadline),
      this.highestToken,
      this.terms.at(sentAt.monotonic),
    ];
    this.say(join, keys, args, sentAt, hearer);
  }

  release(keys: LineKeys, over: Finished, waiting: boolean, hearer: Hearer): void {
    const sentAt = now();
    const { first, head, unserved } = over;
    const back = unserved.length > 0 ? `,${unserved.join(',')},` : '-';
    const args = [
      `${this.clientId}:${head}`,
      this.textOf(first),
      this.timing.rest,
      `${back} ${waiting ? 'waiting' : 'idle'} ${this.terms.at(sentAt.monotonic)}`,
    ];
    this.say(release, keys, args, sentAt, hearer);
  }

  /** @param via which connection says it */
  heartbeat(
    keys: LineKeys,
    renewal: Renewal,
    waiting: { readonly oldest: Asking | undefined } | undefined,
    ping: boolean,
    deadline: number,
    via?: ScriptRunner,
  ): Promise<Answer> {
    const sentAt = now();
    const args = [
      this.clientId,
      this.clockOf(keys).atMost(deadline),
      renewal.first,
      renewal.leaseTime === undefined ? 'rolling' : 'fixed',
      Math.round(renewal.leaseTime ?? this.timing.lease),
      renewal.label,
      waiting ? 'waiting' : 'idle',
      waiting?.oldest?.sequence ?? '',
      waiting?.oldest ? this.memberOf(waiting.oldest) : '',
      ping ? 'ping' : '',
      this.terms.at(sentAt.monotonic),
      renewal.served,
    ];
    if (via) {
      const order = ++this.order;
      const understood = (reply: unknown): Answer =>
        this.understand(keys, reply, order, sentAt, performance.now(), renewal);
      return via.run(heartbeat, keys, this.guarded(args)).then(understood);
    }
    return answerTo((hearer) => this.say(heartbeat, keys, args, sentAt, hearer, renewal));
  }

  leave(keys: LineKeys, asking: Asking, waiting: boolean): Promise<Answer> {
    const sentAt = now();
    const args = [
      this.clientId,
      this.memberOf(asking),
      waiting ? 'waiting' : 'idle',
      this.terms.at(sentAt.monotonic),
    ];
    return answerTo((hearer) => this.say(leave, keys, args, sentAt, hearer));
  }

  forceRelease(keys: LineKeys, first: number): Promise<Answer> {
    const sentAt = now();
    const args = [this.clientId, first, this.terms.at(sentAt.monotonic)];
    return answerTo((hearer) => this.say(forceRelease, keys, args, sentAt, hearer));
  }

  inspect(keys: LineKeys, limit: number): Promise<unknown> {
    return this.commands.run(inspect, keys, [this.clientId, limit]);
  }

  /** The clock of the server that keeps a lock. */
  clockOf([hash]: LineKeys): ServerClock {
    return this.clocks.of(this.commands.addressOf(hash));
  }

  /** How a request stands in the queue. */
  private memberOf(asking: Asking): string {
    const lease = asking.leaseTime === undefined ? '' : `:${Math.round(asking.leaseTime)}`;
    return `${this.clientId}:${asking.sequence}${lease}`;
  }

  /** Of a lock that nobody else wants, the highest token is also the one that is released, and seen by the next request. */
  private textOf(token: number): string {
    if (token !== this.lastToken) {
      this.lastToken = token;
      this.lastTokenText = String(token);
    }
    return this.lastTokenText;
  }

  /** @param wanted what an acquire would be granted, or a heartbeat renews */
  private say(
    script: Script,
    keys: LineKeys,
    args: (string | number)[],
    sentAt: Instant,
    hearer: Hearer,
    wanted?: Wanted,
  ): void {
    const said = new Said(this, keys, ++this.order, sentAt, hearer, wanted);
    void this.commands.run(script, keys, this.guarded(args)).then(
      (reply) => said.received(reply, performance.now()),
      (error: unknown) => said.failed(toCommandFailure(error)),
    );
  }

  private guarded(args: (string | number)[]): readonly (string | number)[] {
    if (this.guard !== undefined) args.push(this.guard);
    return args;
  }

  understand(
    keys: LineKeys,
    reply: unknown,
    order: number,
    sentAt: Instant,
    receivedAt: number,
    wanted: Wanted | undefined,
  ): Answer {
    const answer = understand(reply, order, sentAt, wanted);
    // On a Cluster the command may have been led on to another node, which ioredis has noted by now.
    this.clockOf(keys).observe(sentAt.monotonic, receivedAt, answer.serverTime);
    const { grant } = answer;
    if (grant) this.highestToken = Math.max(this.highestToken, grant.first + grant.run.length - 1);
    return answer;
  }
}

/** A command under way. */
class Said {
  constructor(
    private readonly commands: LineCommands,
    private readonly keys: LineKeys,
    private readonly order: number,
    private readonly sentAt: Instant,
    private readonly hearer: Hearer,
    private readonly wanted: Wanted | undefined,
  ) {}

  received(reply: unknown, at: number): void {
    let answer: Answer;
    try {
      answer = this.commands.understand(this.keys, reply, this.order, this.sentAt, at, this.wanted);
    } catch (error) {
      this.failed(toCommandFailure(error));
      return;
    }
    this.hearer.answered(answer);
  }

  failed(failure: CommandFailure): void {
    this.hearer.failed(failure);
  }
}

/** What a request wants, as the acquire script reads it: fixed lease, ticket to take back, mode, bound of the line. */
function wishOf({ leaseTime, ticket, tries, maxQueue }: Asking): string {
  if (leaseTime === undefined && ticket === 0 && !tries && maxQueue === Infinity) return USUAL_WISH;
  const fixed = leaseTime === undefined ? '-' : Math.round(leaseTime);
  return `${fixed} ${ticket} ${tries ? 'try' : 'wait'} ${maxQueue === Infinity ? -1 : maxQueue}`;
}
