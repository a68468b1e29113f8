import { now } from '../../core/port/lease.js';
import type { CommandConnection } from '../redis-client/commands/command-connection.js';
import { untilGivenBack, type Retry } from '../redis-client/commands/retry.js';
import { untilAnswered, type Sent } from '../redis-client/commands/script-calls.js';
import { script, type Overdue, type Script, type Words } from '../redis-client/commands/script.js';
import type { LineKeys } from './keys.js';
import { Leavers, type Leaver, type LeaveReply } from './leavers.js';
import * as texts from './scripts/scripts.generated.js';

const acquire = script(...texts.acquire);
const forceRelease = script(...texts.forceRelease);
const inspect = script(...texts.inspect);
const leave = script(...texts.leave);
const release = script(...texts.release);
const renew = script(...texts.renew);

/**
 * The commands that wake a waiter. Redisson listens to sharded channels on a Redis Cluster that has them, else to classic ones. On Redis Cluster
 * scripts publish on both, because they cannot know which version listens.
 */
export type Publish = 'PUBLISH' | 'PUBLISH SPUBLISH';

/** A request as the scripts need it. Times are whole milliseconds, as in Redisson. */
export interface WireRequest {
  /** `<uuid of the client>:<thread number>` */
  readonly id: string;
  /** The wait time from which deadlines in the queue are computed. */
  readonly wait: number;
  readonly leaseTime: number;
  /** The request is a try: it never waits in the queue. */
  readonly tries: boolean;
  readonly maxQueue: number;
}

export type AcquireReply = ReturnType<typeof readAcquire>;
export type Granted = Extract<AcquireReply, { readonly status: 'granted' }>;
export type Queued = Extract<AcquireReply, { readonly status: 'queued' }>;
export type InspectReply = ReturnType<typeof readInspect>;

/** Status, time of Redis in ms, and what the header of the script says. */
type Answer = readonly [status: string, time: number, ...details: Words];

/** The scripts as typed calls. All reject with a CommandFailure. */
export class RedissonCommands {
  /** Those that leave the queue of a lock, by the lock's key. */
  private readonly leavers = new Map<string, Leavers>();
  /** What gives back a grant or a place, and is neither answered nor failed. */
  private readonly givingBack = new Set<Promise<unknown>>();

  constructor(
    private readonly client: { readonly connection: CommandConnection; readonly retry: Retry },
    private readonly options: { readonly commandTimeout: number },
    private readonly publish: Publish,
  ) {}

  /** @param isPlaced it has a place in the queue, so it does not fail while its answer can still come */
  acquire(
    line: LineKeys,
    { id, wait, leaseTime, tries, maxQueue }: WireRequest,
    isPlaced = false,
  ): Promise<AcquireReply> {
    const how = [wait, leaseTime, tries ? 'try' : 'wait', maxQueue === Infinity ? -1 : maxQueue];
    const send = (overdue: Overdue): Promise<Answer> =>
      this.run(acquire, line, [id, ...how], isPlaced ? undefined : overdue);
    return this.repeat(0, send, readAcquire);
  }

  /**
   * Ends a grant. Repeated until answered, but not after its lease, when the server ends the grant itself.
   *
   * @param keptUntil until when nobody gets the lock (Redis ms); 0: it is not kept
   */
  release(line: LineKeys, { id, leaseTime }: Pick<WireRequest, 'id' | 'leaseTime'>, keptUntil = 0) {
    const send = (): Promise<Answer> => this.run(release, line, [id, keptUntil]);
    return this.givesBack(this.repeat(leaseTime, send, readWoken, untilGivenBack));
  }

  /** Leaves the queue. Repeated until answered: only then does the place of a process that lives not stand in the way. */
  leave(line: LineKeys, { id, wait }: Pick<WireRequest, 'id' | 'wait'>): Promise<LeaveReply> {
    const [key] = line.keys;
    let leavers = this.leavers.get(key);
    if (!leavers) {
      const send = (all: readonly Leaver[]): Promise<LeaveReply[]> => {
        const words = all.flatMap((leaver) => [leaver.id, leaver.wait]);
        return this.repeat(Infinity, () => this.run(leave, line, ['', ...words]), readLeave, untilGivenBack);
      };
      leavers = new Leavers(send, () => this.leavers.delete(key));
      this.leavers.set(key, leavers);
    }
    return this.givesBack(leavers.add({ id, wait }));
  }

  /** Sent once: the request repeats a renewal that failed. */
  async renew(
    line: LineKeys,
    { id, leaseTime }: Pick<WireRequest, 'id' | 'leaseTime'>,
    how: 'renew' | 'fix' = 'renew',
    overdue?: Overdue,
  ) {
    const sentAt = now();
    const [status] = await this.run(renew, line, [id, leaseTime, how], overdue);
    return { renewed: status === 'RENEWED', sentAt };
  }

  /** @param holder names the grant, so that a repeated command cannot end the next one; undefined: the lock is free */
  forceRelease(line: LineKeys, holder = '') {
    return this.repeat(0, (overdue) => this.run(forceRelease, line, [holder], overdue), readForced);
  }

  /** @param most how many waiters to name */
  inspect(line: LineKeys, most: number): Promise<InspectReply> {
    return this.repeat(0, (overdue) => this.run(inspect, line, ['', most], overdue), readInspect);
  }

  /** Resolves when all that is being given back is answered, or has failed. */
  async givenBack(): Promise<void> {
    await Promise.allSettled(this.givingBack);
  }

  private givesBack<T>(given: Promise<T>): Promise<T> {
    this.givingBack.add(given);
    return given.finally(() => this.givingBack.delete(given));
  }

  /** Repeats a command until it is answered, for as long as one may take, or for `limit` ms if that is longer. */
  private repeat<T>(
    limit: number,
    send: (overdue: Overdue) => Promise<Answer>,
    read: (answer: Answer, sent: Sent) => T,
    rule?: typeof untilGivenBack,
  ): Promise<T> {
    const until = performance.now() + Math.max(limit, this.options.commandTimeout);
    return untilAnswered(this.client.retry, send, until, read, rule);
  }

  private run(script: Script, line: LineKeys, [id = '', ...more]: Words, overdue?: Overdue): Promise<Answer> {
    // Deadlines in the queue use the clocks of the clients, as in Redisson, so all hosts must agree on the time.
    const words = [id, Date.now(), line.channel, this.publish, ...more];
    return this.client.connection.scripts.run(script, line.keys, words, overdue) as Promise<Answer>;
  }
}

function readAcquire(
  [status, time, first, second, holder, left, head]: Answer,
  { sentAt, unanswered }: Sent,
) {
  switch (status) {
    case 'HELD':
      return {
        status: 'granted',
        unanswered,
        /** From here on counts what is left of the lease, ms. */
        sentAt,
        left: Number(first),
        waiting: Number(second),
        /** The Redis clock, ms; after a lost reply it may be that of a later copy of the command. */
        grantedAt: time,
      } as const;
    case 'BUSY':
      /** The holder, or the head of the queue if it is its turn, and the ms left of the holder's lease. */
      return { status: 'busy', unanswered, blocker: String(first), left: milliseconds(second) } as const;
    case 'FULL':
      return { status: 'full', unanswered } as const;
    default:
      return {
        status: 'queued',
        unanswered,
        sentAt,
        ahead: Number(first),
        /** It was not in the queue before this command. */
        entered: second === 'new',
        /** Undefined: the lock is free, and it is the turn of `head`. */
        holder: named(holder),
        head: String(head),
        /** Milliseconds left of the holder's lease, or to the head's deadline where the lock is free; Infinity: endless. */
        left: milliseconds(left),
      } as const;
  }
}

/** `woken`: the head of the queue, which was told that it may ask; undefined: none was. */
function readWoken([status, , woken]: Answer) {
  return { status, woken: named(woken) };
}

/** `ended`: the command has ended the grant. A copy that finds it ended may be the second. */
function readForced(answer: Answer, { unanswered }: Sent) {
  const { status, woken } = readWoken(answer);
  return { ended: status === 'FORCED' || unanswered, woken };
}

function readLeave([, , woken, holder, left, ...places]: Answer): LeaveReply[] {
  const all = { woken: named(woken), holder: named(holder), left: milliseconds(left) };
  return places.map((place) => ({ ...all, ahead: Number(place) < 0 ? undefined : Number(place) }));
}

/** `waiters`: the first of the queue, with the ms left to their deadlines. */
function readInspect([, , holder, leaseLeft, queueLength, ...entries]: Answer) {
  const waiters = [];
  for (let i = 0; i < entries.length; i += 2) {
    waiters.push({ id: String(entries[i]), left: Number(entries[i + 1]) });
  }
  const length = Number(queueLength);
  return { holder: named(holder), leaseLeft: milliseconds(leaseLeft), queueLength: length, waiters };
}

/** A holder or waiter; the scripts write '' for none. */
function named(id: string | number | undefined): string | undefined {
  return id === undefined || id === '' ? undefined : String(id);
}

/** A time to live; Infinity: Redis says -1 for a key that has none. */
function milliseconds(ttl: string | number | undefined): number {
  return Number(ttl) < 0 ? Infinity : Number(ttl);
}
