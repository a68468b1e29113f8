import type { Instant } from '../../../core/clock.js';
import {
  ScriptCommands,
  type ScriptClient,
  type Sent,
  type Values,
} from '../../redis-client/script-commands.js';
import type { ScriptRunner } from '../../redis-client/script.js';
import { acquire, forceRelease, heartbeat, inspect, join, leave, release } from '../scripts.generated.js';
import type { Timing } from '../timing.js';
import {
  acquireArguments,
  heartbeatArguments,
  joinArguments,
  leaveArguments,
  releaseArguments,
  type AcquireArgs,
  type ClientInfo,
  type FinishedGrant,
  type HeartbeatArgs,
  type RequestName,
} from './arguments.js';
import {
  readAcquire,
  readForceRelease,
  readHeartbeat,
  readJoin,
  readLeave,
  readRelease,
  readReply,
  type AcquireReply,
  type ForceReleaseReply,
  type HeartbeatReply,
  type JoinReply,
  type LeaveReply,
  type PresentGrant,
  type RawReply,
  type ReleaseReply,
} from './reply.js';

/** The keys of one lock. */
export type LineKeys = readonly [hash: string, queue: string, clients: string];

/** The scripts as typed calls: how each is asked and repeated, and what it answers. */
export class LockCommands extends ScriptCommands<RawReply> {
  /** Of all grants of this client that it was told of, whatever the lock. */
  highestToken = 0;

  constructor(
    client: ScriptClient,
    private readonly info: ClientInfo,
    protected override readonly timing: Timing,
  ) {
    super(client, timing);
  }

  get clientId(): string {
    return this.info.clientId;
  }

  /** @param deadline until when it is repeated, and after which no copy of it may write (R2, R13); monotonic ms */
  acquire(keys: LineKeys, args: AcquireArgs, deadline: number): Promise<AcquireReply> {
    const values = (limit: number): Values => acquireArguments(args, limit, this.highestToken);
    return this.repeatUntil(acquire, keys, values, deadline, readAcquire);
  }

  /**
   * Puts `count` new requests without a gap in their sequences into the line at once.
   *
   * @param first sequence of the first
   * @param deadline as for `acquire`
   */
  join(keys: LineKeys, first: number, count: number, deadline: number): Promise<JoinReply> {
    const values = (limit: number): Values => joinArguments(first, count, limit, this.highestToken);
    return this.repeatUntil(join, keys, values, deadline, readJoin);
  }

  /**
   * Ends a grant. Repeated until answered, at the longest for a lease, after which the server ends it by itself.
   *
   * @param markAlive whether it also tells that this client lives (R5)
   */
  release(keys: LineKeys, grant: FinishedGrant, markAlive: boolean): Promise<ReleaseReply> {
    const until = performance.now() + this.timing.lease;
    return this.repeat(release, keys, () => releaseArguments(grant, markAlive), until, readRelease);
  }

  /**
   * Takes a request out of the line. Repeated until the liveness window would do the same.
   *
   * @param markAlive as for `release`
   */
  leave(keys: LineKeys, request: RequestName, markAlive: boolean): Promise<LeaveReply> {
    const { window, commandTimeout: limit } = this.timing;
    const until = performance.now() + Math.max(window, 2 * limit);
    return this.repeat(leave, keys, () => leaveArguments(request, markAlive), until, readLeave);
  }

  /**
   * Sent once: a heartbeat that failed is followed by the next.
   *
   * @param via another connection than that of all commands
   */
  async heartbeat(keys: LineKeys, args: HeartbeatArgs, via?: ScriptRunner): Promise<HeartbeatReply> {
    const values = (limit: number): Values => heartbeatArguments(args, limit);
    return readHeartbeat(await this.once(heartbeat, keys, values, via));
  }

  /**
   * @param first token of the grant to end, which names it, so that a repeated command does not end the next one too;
   *   undefined: only a grant that no script can read is cleared away
   */
  forceRelease(keys: LineKeys, first: number | undefined): Promise<ForceReleaseReply> {
    const until = performance.now() + this.timing.commandTimeout;
    return this.repeat(forceRelease, keys, () => [first ?? 'unreadable'], until, readForceRelease);
  }

  /** @param limit how many waiters to name */
  inspect(keys: LineKeys, limit: number): Promise<RawReply> {
    const until = performance.now() + this.timing.commandTimeout;
    return this.repeat(
      inspect,
      keys,
      () => [limit],
      until,
      (reply) => reply,
    );
  }

  /** A grant of this client: tokens rise beyond it, also on a server that lost its data and whose clock is behind. */
  saw({ first, run }: Pick<PresentGrant, 'first' | 'run'>): void {
    this.highestToken = Math.max(this.highestToken, first + run.length - 1);
  }

  protected read(answer: unknown, { order, sentAt }: Sent): RawReply {
    const reply = readReply(answer, order, sentAt);
    if (reply.grant) this.saw(reply.grant);
    return reply;
  }

  protected override argumentsOf(values: Values, sentAt: Instant): Values {
    return [...this.info.at(sentAt.monotonic), ...values];
  }
}
