import { now } from '../../../core/clock.js';
import type { CommandConnection } from '../../redis-client/command-connection.js';
import type { Retry } from '../../redis-client/retry.js';
import type { Script } from '../../redis-client/script.js';
import { commandTimeout } from '../../redis-client/server-failure.js';
import type { ServerClock } from '../../redis-client/server-clock.js';
import type { ServerClocks } from '../../redis-client/server-clocks.js';
import type { ScriptRunner } from '../replication.js';
import { acquire, forceRelease, heartbeat, inspect, join, leave, release } from '../scripts.generated.js';
import type { Timing } from '../timing.js';
import {
  acquireArguments,
  heartbeatArguments,
  joinArguments,
  leaveArguments,
  releaseArguments,
  type AcquireArgs,
  type FinishedGrant,
  type HeartbeatArgs,
  type RequestName,
  type Values,
} from './arguments.js';
import type { ClientInfo } from './client-info.js';
import {
  blocker,
  readReply,
  type AcquireReply,
  type ForceReleaseReply,
  type HeartbeatReply,
  type JoinReply,
  type LeaveReply,
  type LockReply,
  type RawReply,
  type ReleaseReply,
  type Repeatable,
} from './reply.js';

/** The keys of one lock. */
export type LineKeys = readonly [hash: string, queue: string, clients: string];

/** The scripts as typed calls: how each is asked and repeated, and what it answers. All reject with a CommandFailure. */
export class LockCommands {
  private order = 0;
  private highestToken = 0;

  constructor(
    private readonly connection: CommandConnection,
    private readonly retry: Retry,
    private readonly clocks: ServerClocks,
    private readonly info: ClientInfo,
    private readonly timing: Timing,
  ) {}

  get clientId(): string {
    return this.info.clientId;
  }

  /** Position of the last command sent. */
  get lastOrder(): number {
    return this.order;
  }

  /** @param deadline until when it is repeated, and after which no copy of it may write (R2, R13); monotonic ms */
  async acquire(keys: LineKeys, args: AcquireArgs, deadline: number): Promise<AcquireReply> {
    const reply = await this.repeatUntil(deadline, () => {
      const limit = this.clockOf(keys).atMost(deadline);
      return this.run(acquire, keys, acquireArguments(args, limit, this.highestToken));
    });
    const [a, b] = reply.details;
    switch (reply.status) {
      case 'QUEUED':
        return { ...reply, status: 'queued', ticket: Number(a), ahead: Number(b) };
      case 'BUSY':
        return { ...reply, status: 'busy', blocker: blocker(a, b) };
      case 'FULL':
        return { ...reply, status: 'full' };
      default:
        return { ...reply, status: reply.status === 'DONE' ? 'done' : 'granted' };
    }
  }

  /**
   * Puts `count` new requests without a gap in their sequences into the line at once.
   *
   * @param first sequence of the first
   * @param deadline as for `acquire`
   */
  async join(keys: LineKeys, first: number, count: number, deadline: number): Promise<JoinReply> {
    const reply = await this.repeatUntil(deadline, () => {
      const limit = this.clockOf(keys).atMost(deadline);
      return this.run(join, keys, joinArguments(first, count, limit, this.highestToken));
    });
    const [ticket, ahead] = reply.details.map(Number) as [number, number];
    return { ...reply, status: reply.status === 'QUEUED' ? 'queued' : 'known', ticket, ahead };
  }

  /**
   * Ends a grant. Repeated until answered, at the longest for a lease, after which the server ends it by itself.
   *
   * @param markAlive whether it also tells that this client lives (R5)
   */
  async release(keys: LineKeys, grant: FinishedGrant, markAlive: boolean): Promise<ReleaseReply> {
    const values = releaseArguments(grant, markAlive);
    const until = performance.now() + this.timing.lease;
    const reply = await this.retry.until(() => this.run(release, keys, values), until);
    return { ...reply, status: reply.status === 'RELEASED' ? 'released' : 'lost' };
  }

  /**
   * Takes a request out of the line. Repeated until the liveness window would do the same.
   *
   * @param markAlive as for `release`
   */
  async leave(keys: LineKeys, request: RequestName, markAlive: boolean): Promise<LeaveReply> {
    const { window, commandTimeout: limit } = this.timing;
    const values = leaveArguments(request, markAlive);
    const until = performance.now() + Math.max(window, 2 * limit);
    const reply = await this.retry.until(() => this.run(leave, keys, values), until);
    const [holder, heldFor, ahead] = reply.details;
    return { ...reply, status: 'left', blocker: blocker(holder, heldFor), ahead: Number(ahead) };
  }

  /**
   * Sent once: a heartbeat that failed is followed by the next.
   *
   * @param via another connection than that of all commands
   */
  async heartbeat(keys: LineKeys, args: HeartbeatArgs, via?: ScriptRunner): Promise<HeartbeatReply> {
    const deadline = this.clockOf(keys).atMost(performance.now() + this.timing.commandTimeout);
    const reply = await this.run(heartbeat, keys, heartbeatArguments(args, deadline), via);
    const status = reply.status === 'RENEWED' ? 'renewed' : reply.status === 'EXPIRED' ? 'expired' : 'gone';
    return { ...reply, status, listeners: Number(reply.details[0] ?? -1) };
  }

  /**
   * @param first token of the grant to end, which names it, so that a repeated command does not end the next one too;
   *   undefined: only a grant that no script can read is cleared away
   */
  async forceRelease(keys: LineKeys, first: number | undefined): Promise<ForceReleaseReply> {
    const reply = await this.retry.until(
      () => this.run(forceRelease, keys, [first ?? 'unreadable']),
      performance.now() + this.timing.commandTimeout,
    );
    return { ...reply, status: reply.status === 'FORCED' ? 'forced' : 'free' };
  }

  /** @param limit how many waiters to name */
  inspect(keys: LineKeys, limit: number): Promise<RawReply> {
    return this.retry.until(
      () => this.run(inspect, keys, [limit]),
      performance.now() + this.timing.commandTimeout,
    );
  }

  /** The clock of the server that keeps a lock. */
  clockOf([hash]: LineKeys): ServerClock {
    return this.clocks.of(this.connection.addressOf(hash));
  }

  /** Repeats a command that carries `deadline` until it is answered or that has passed (R2, R13). */
  private async repeatUntil(deadline: number, send: () => Promise<RawReply>): Promise<RawReply & Repeatable> {
    let sent = 0;
    let expired = 0;
    const attempt = (): Promise<RawReply> => {
      sent += 1;
      return send();
    };
    for (;;) {
      const reply = await this.retry.until(attempt, deadline);
      // What came too late wrote nothing, and no copy of it will.
      if (reply.status !== 'EXPIRED') return { ...reply, repeated: sent - expired > 1 };
      // The first command of a connection only learns the server's time; so does one after a step of its clock (R2).
      expired += 1;
      if (performance.now() >= deadline) throw commandTimeout(this.timing.commandTimeout);
    }
  }

  /** Sends a script once. */
  private async run(
    script: Script,
    keys: LineKeys,
    values: Values,
    via: ScriptRunner = this.connection,
  ): Promise<RawReply> {
    const order = ++this.order;
    const sentAt = now();
    const answer = await via.run(script, keys, [...this.info.at(sentAt.monotonic), ...values]);
    const reply = readReply(answer, order, sentAt);
    // On a Cluster the command may have been led on to another node, which ioredis has noted by now.
    this.clockOf(keys).observe(sentAt.monotonic, performance.now(), reply.serverTime);
    this.seen(reply);
    return reply;
  }

  private seen({ grant }: LockReply): void {
    if (grant) this.highestToken = Math.max(this.highestToken, grant.first + grant.run.length - 1);
  }
}
