import { now, type Instant } from '../../core/clock.js';
import type { CommandConnection } from '../redis-connection/command-connection.js';
import type { Script } from '../redis-connection/command-connection.js';
import type { Subscriber } from '../redis-connection/subscriber.js';
import { acquire, forceRelease, heartbeat, inspect, leave, release } from './scripts.generated.js';
import type { ServerClock } from '../redis-connection/server-clock.js';
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

/** Says the protocol's commands and understands the answers; knows no line. */
export class LineCommands {
  private order = 0;
  private highestToken = 0;
  private readonly settings: string;

  constructor(
    readonly clientId: string,
    private readonly commands: CommandConnection,
    private readonly subscriber: Subscriber,
    private readonly clock: ServerClock,
    private readonly timing: Timing,
    channelPrefix: string,
    /** host/pid */
    private readonly where: string,
  ) {
    const { window, lease, grace, maxRun, rest } = timing;
    this.settings = `${Math.round(window)} ${Math.round(lease)} ${grace} ${maxRun} ${rest} ${channelPrefix}`;
  }

  /** Position of the last command sent. */
  get lastOrder(): number {
    return this.order;
  }

  acquire(keys: LineKeys, asking: Asking, deadline: number): Promise<Answer> {
    const lease = Math.round(asking.leaseTime ?? this.timing.lease);
    return this.say(acquire, keys, [
      this.clientId,
      asking.sequence,
      this.clock.atMost(deadline),
      lease,
      lease + RETENTION,
      asking.leaseTime === undefined ? '' : Math.round(asking.leaseTime),
      asking.ticket,
      asking.tries ? 'try' : 'wait',
      asking.maxQueue === Infinity ? -1 : asking.maxQueue,
      this.highestToken,
      asking.label,
      this.settings,
      this.self(),
    ]);
  }

  /** @param unserved sequences of the run that had no turn */
  release(
    keys: LineKeys,
    first: number,
    head: number,
    unserved: readonly number[],
    waiting: boolean,
  ): Promise<Answer> {
    return this.say(release, keys, [
      this.clientId,
      first,
      head,
      this.timing.rest,
      waiting ? 'waiting' : 'idle',
      this.settings,
      this.self(),
      unserved.length > 0 ? `,${unserved.join(',')},` : '',
    ]);
  }

  /** @param renewal the grant to renew: `first` 0 renews nothing */
  heartbeat(
    keys: LineKeys,
    renewal: { first: number; leaseTime: number | undefined; label: string },
    waiting: { readonly oldest: Asking | undefined } | undefined,
    ping: boolean,
    deadline: number,
  ): Promise<Answer> {
    return this.say(heartbeat, keys, [
      this.clientId,
      this.clock.atMost(deadline),
      renewal.first,
      renewal.leaseTime === undefined ? 'rolling' : 'fixed',
      Math.round(renewal.leaseTime ?? this.timing.lease),
      renewal.label,
      waiting ? 'waiting' : 'idle',
      waiting?.oldest?.sequence ?? '',
      waiting?.oldest ? this.memberOf(waiting.oldest) : '',
      ping ? 'ping' : '',
      this.settings,
      this.self(),
    ]);
  }

  leave(keys: LineKeys, asking: Asking, waiting: boolean): Promise<Answer> {
    return this.say(leave, keys, [
      this.clientId,
      this.memberOf(asking),
      waiting ? 'waiting' : 'idle',
      this.settings,
      this.self(),
    ]);
  }

  forceRelease(keys: LineKeys, first: number): Promise<Answer> {
    return this.say(forceRelease, keys, [this.clientId, first, this.settings, this.self()]);
  }

  inspect(keys: LineKeys, limit: number): Promise<unknown> {
    return this.commands.run(inspect, keys, [this.clientId, limit]);
  }

  /** How a request stands in the queue. */
  private memberOf(asking: Asking): string {
    const lease = asking.leaseTime === undefined ? '' : `:${Math.round(asking.leaseTime)}`;
    return `${this.clientId}:${asking.sequence}${lease}`;
  }

  /** What the client tells of itself: which server carries its subscription, for how long, and host/pid. */
  private self(): string {
    const { upFor, serverRunId } = this.subscriber;
    const heard =
      upFor !== undefined && serverRunId !== undefined && serverRunId === this.commands.serverRunId;
    return heard ? `${serverRunId} ${Math.floor(upFor)} ${this.where}` : `- 0 ${this.where}`;
  }

  private async say(script: Script, keys: LineKeys, args: (string | number)[]): Promise<Answer> {
    const order = ++this.order;
    const sentAt = now();
    const reply = (await this.commands.run(script, keys, args)) as ShortAnswer | FullAnswer;
    this.clock.observe(sentAt.monotonic, performance.now(), reply[1]);
    if (reply.length < 4) return this.understandShort(reply as ShortAnswer, order, sentAt, args);
    const [status, , generation, wake, owed, run, first, left, ...details] = reply as FullAnswer;
    const grant = run === '' ? undefined : { run: run.split(',').map(Number), first, left, since: sentAt };
    if (grant) this.highestToken = Math.max(this.highestToken, first + grant.run.length - 1);
    return {
      status,
      order,
      sentAt,
      generation,
      wake,
      owed: owed === 1,
      grant,
      details: [details[0], details[1], details[2]],
    };
  }

  /** The answer of acquire and release where nobody waits: what it leaves out is what was asked for. */
  private understandShort(
    reply: ShortAnswer,
    order: number,
    sentAt: Instant,
    args: (string | number)[],
  ): Answer {
    const [status, , first] = reply;
    let grant: PresentGrant | undefined;
    if (first !== undefined) {
      grant = { run: [Number(args[1])], first, left: Number(args[3]), since: sentAt };
      this.highestToken = Math.max(this.highestToken, first);
    }
    return { status, order, sentAt, generation: -1, wake: -1, owed: false, grant, details: NO_DETAILS };
  }
}

const NO_DETAILS = [undefined, undefined, undefined] as const;

type ShortAnswer = [status: Status, time: number, first?: number];
type FullAnswer = [
  status: Status,
  time: number,
  generation: number,
  wake: number,
  owed: 0 | 1,
  run: string,
  first: number,
  left: number,
  ...details: unknown[],
];
