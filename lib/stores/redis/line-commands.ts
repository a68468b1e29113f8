import { now, type Instant } from '../../core/clock.js';
import type { CommandConnection } from '../redis-connection/command-connection.js';
import type { Script } from '../redis-connection/command-connection.js';
import type { Subscriber } from '../redis-connection/subscriber.js';
import { acquire, forceRelease, heartbeat, inspect, join, leave, release } from './scripts.generated.js';
import type { ScriptRunner } from './replication.js';
import { toCommandFailure } from '../redis-connection/server-failure.js';
import type { ServerClock } from '../redis-connection/server-clock.js';
import type { ServerClocks } from '../redis-connection/server-clocks.js';
import type { Timing } from './timing.js';

/** How long the hash of a grant that nobody released outlives its lease, ms; the same as in scripts/includes/state.lua. */
const RETENTION = 60_000;

/** The keys of one lock. */
export type LineKeys = readonly [hash: string, queue: string, clients: string];

/** The client's present grant of a lock, as an answer or a message tells it. */
export interface PresentGrant {
  /** Sequence numbers of the run's requests, in order. */
  readonly run: readonly number[];
  /** Fencing token of the run's first request; names the grant. */
  readonly first: number;
  /** Milliseconds left of the lease, counted from `since` (M1). */
  readonly left: number;
  readonly since: Instant;
}

export type Status =
  | 'EXPIRED'
  | 'GRANTED'
  | 'DONE'
  | 'BUSY'
  | 'FULL'
  | 'QUEUED'
  | 'KNOWN'
  | 'RELEASED'
  | 'LOST'
  | 'RENEWED'
  | 'GONE'
  | 'LEFT'
  | 'FORCED'
  | 'FREE';

/** What every script answers. */
export interface Answer {
  readonly status: Status;
  /** Position of the command among all that this client sent. */
  readonly order: number;
  readonly sentAt: Instant;
  /** Time of Redis when the script ran, ms. */
  readonly serverTime: number;
  /** The client's generation at this lock (M5); 0: it has none; -1: not looked at. */
  readonly generation: number;
  /** Milliseconds until asking again makes sense; -1: never by itself. */
  readonly wake: number;
  /** The lock is free although somebody waits: whoever hears this has to ask again then, waiting itself or not (R8). */
  readonly owed: boolean;
  readonly grant: PresentGrant | undefined;
  readonly details: readonly [unknown, unknown, unknown];
}

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
}

/** Says the protocol's commands and understands the answers; knows no line. */
export class LineCommands {
  private order = 0;
  private highestToken = 0;
  /** The parts of `terms` that never change. */
  private readonly firstLease: string;
  private readonly settings: string;
  private readonly guard: readonly string[];

  constructor(
    readonly clientId: string,
    private readonly commands: CommandConnection,
    private readonly subscriber: Subscriber,
    private readonly clocks: ServerClocks,
    private readonly timing: Timing,
    /** host/pid, without white space */
    where: string,
    /** What strict mode adds to every script that grants or passes on. */
    guard: string | undefined,
  ) {
    this.guard = guard === undefined ? [] : [guard];
    const { window, lease, grace, maxRun, rest } = timing;
    // A waiter that died just before its turn blocks for a window at most; its first renewal makes the lease whole.
    const first = Math.round(Math.min(window, lease));
    this.firstLease = `${first} ${first + RETENTION}`;
    this.settings = `${where} ${Math.round(window)} ${grace} ${maxRun} ${rest}`;
  }

  /** Position of the last command sent. */
  get lastOrder(): number {
    return this.order;
  }

  acquire(keys: LineKeys, asking: Asking, deadline: number): Promise<Answer> {
    const lease = Math.round(asking.leaseTime ?? this.timing.lease);
    const seen = String(this.highestToken).padStart(16, '0');
    const args = [
      `${this.clientId}:${asking.sequence}`,
      this.clockOf(keys).atMost(deadline),
      `${lease} ${asking.label}`,
      lease + RETENTION,
      `${seen} ${wishOf(asking)} ${this.terms()}`,
      ...this.guard,
    ];
    return this.say(acquire, keys, args, { run: [asking.sequence], left: lease });
  }

  /** @param first sequence of the first of `count` requests without a gap */
  join(keys: LineKeys, first: number, count: number, deadline: number): Promise<Answer> {
    const args = [
      this.clientId,
      first,
      count,
      this.clockOf(keys).atMost(deadline),
      this.highestToken,
      this.terms(),
      ...this.guard,
    ];
    return this.say(join, keys, args);
  }

  release(keys: LineKeys, over: Finished, waiting: boolean): Promise<Answer> {
    const { first, head, unserved } = over;
    const back = unserved.length > 0 ? `,${unserved.join(',')},` : '-';
    return this.say(release, keys, [
      `${this.clientId}:${head}`,
      first,
      this.timing.rest,
      `${back} ${waiting ? 'waiting' : 'idle'} ${this.terms()}`,
      ...this.guard,
    ]);
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
      this.terms(),
      ...this.guard,
    ];
    return this.say(heartbeat, keys, args, renewal, via);
  }

  leave(keys: LineKeys, asking: Asking, waiting: boolean): Promise<Answer> {
    return this.say(leave, keys, [
      this.clientId,
      this.memberOf(asking),
      waiting ? 'waiting' : 'idle',
      this.terms(),
      ...this.guard,
    ]);
  }

  forceRelease(keys: LineKeys, first: number): Promise<Answer> {
    return this.say(forceRelease, keys, [this.clientId, first, this.terms(), ...this.guard]);
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

  /** What the client tells of itself: which server carries its subscription, for how long, who it is, and its times. */
  private terms(): string {
    const { upFor, serverRunId } = this.subscriber;
    const heard =
      upFor !== undefined && serverRunId !== undefined && serverRunId === this.commands.serverRunId;
    const hears = heard ? `${serverRunId} ${Math.floor(upFor)}` : '- 0';
    return `${this.firstLease} ${hears} ${this.settings}`;
  }

  /** @param wanted what an acquire would be granted, or a heartbeat renews */
  private say(
    script: Script,
    keys: LineKeys,
    args: readonly (string | number)[],
    wanted?: Wanted,
    via?: ScriptRunner,
  ): Promise<Answer> {
    const order = ++this.order;
    const sentAt = now();
    const understood = (reply: unknown): Answer => this.understand(keys, reply, order, sentAt, wanted);
    if (via) return via.run(script, keys, args).then(understood);
    return new Promise((resolve, reject) => {
      const onReply = (reply: unknown): void => {
        try {
          resolve(understood(reply));
        } catch (error) {
          reject(toCommandFailure(error));
        }
      };
      this.commands.send(script, keys, args, onReply, reject);
    });
  }

  private understand(
    keys: LineKeys,
    reply: unknown,
    order: number,
    sentAt: Instant,
    wanted: Wanted | undefined,
  ): Answer {
    const answer =
      typeof reply === 'string'
        ? understandShort(reply, order, sentAt, wanted)
        : understand(reply as FullAnswer, order, sentAt);
    // On a Cluster the command may have been led on to another node, which ioredis has noted by now.
    this.clockOf(keys).observe(sentAt.monotonic, performance.now(), answer.serverTime);
    const { grant } = answer;
    if (grant) this.highestToken = Math.max(this.highestToken, grant.first + grant.run.length - 1);
    return answer;
  }
}

/** What of a grant is known before the answer, which adds the rest. */
interface Wanted {
  readonly run: readonly number[];
  readonly first?: number;
  /** ms */
  readonly left?: number;
}

type FullAnswer = [
  status: Status,
  micros: number,
  generation: number,
  wake: number,
  owed: 0 | 1,
  run: string,
  first: number,
  left: number,
  ...details: unknown[],
];

function understand(reply: FullAnswer, order: number, sentAt: Instant): Answer {
  const [status, micros, generation, wake, owed, run, first, left, a, b, c] = reply;
  return {
    status,
    order,
    sentAt,
    serverTime: micros / 1_000,
    generation,
    wake,
    owed: owed === 1,
    grant: run === '' ? undefined : { run: run.split(',').map(Number), first, left, since: sentAt },
    details: [a, b, c],
  };
}

/**
 * The answer in the usual case of acquire, release and heartbeat: status and time, which is also the token of a new grant;
 * then for how long the present holder may have the lock, and what a heartbeat adds.
 */
function understandShort(reply: string, order: number, sentAt: Instant, wanted: Wanted | undefined): Answer {
  const status = endOfWord(reply, 0);
  const micros = endOfWord(reply, status + 1);
  const wake = endOfWord(reply, micros + 1);
  const time = Number(reply.slice(status + 1, micros));
  const left = micros < reply.length ? Number(reply.slice(micros + 1, wake)) : -1;
  return {
    status: reply.slice(0, status) as Status,
    order,
    sentAt,
    serverTime: time / 1_000,
    generation: -1,
    wake: left,
    owed: false,
    grant: wanted && {
      run: wanted.run,
      first: wanted.first ?? time,
      left: wanted.left ?? left,
      since: sentAt,
    },
    details: [wake < reply.length ? reply.slice(wake + 1) : undefined, undefined, undefined],
  };
}

/** Not `split`: this is done for every lock that is taken. */
function endOfWord(text: string, from: number): number {
  const end = text.indexOf(' ', from);
  return end < 0 ? text.length : end;
}

/** What a request wants, as the acquire script reads it: fixed lease, ticket to take back, mode, bound of the line. */
function wishOf({ leaseTime, ticket, tries, maxQueue }: Asking): string {
  const fixed = leaseTime === undefined ? '-' : Math.round(leaseTime);
  return `${fixed} ${ticket} ${tries ? 'try' : 'wait'} ${maxQueue === Infinity ? -1 : maxQueue}`;
}
