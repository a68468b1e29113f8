import { now } from '../../../core/clock.js';
import type { CommandConnection } from '../../redis-client/command-connection.js';
import type { Retry } from '../../redis-client/retry.js';
import type { Script } from '../../redis-client/script.js';
import { commandTimeout, toCommandFailure } from '../../redis-client/server-failure.js';
import type { ServerClock } from '../../redis-client/server-clock.js';
import type { ServerClocks } from '../../redis-client/server-clock.js';
import type { LineKeys } from '../line-keys.js';
import { acquire, forceRelease, inspect, leave, release, renew } from '../scripts.generated.js';
import type { Timing } from '../timing.js';
import {
  named,
  readAcquire,
  readInspect,
  readLeave,
  type AcquireReply,
  type ForceReleaseReply,
  type InspectReply,
  type LeaveReply,
  type RawReply,
  type ReleaseReply,
  type RenewReply,
} from './reply.js';

/** A request as the acquire script needs it. */
export interface AcquireArgs {
  /** `<uuid of the client>:<thread number>` */
  readonly id: string;
  /** Milliseconds by which deadlines in line are reckoned. */
  readonly wait: number;
  /** Milliseconds. */
  readonly leaseTime: number;
  /** It wants the lock now or not at all. */
  readonly tries: boolean;
  readonly maxQueue: number;
}

/**
 * What wakes a waiter. Redisson listens to sharded channels on a Cluster that has them and to classic ones otherwise; on
 * a Cluster both are sent, since a script cannot know which version listens.
 */
export type Publish = 'PUBLISH' | 'PUBLISH SPUBLISH';

/** The scripts as typed calls: how each is asked and repeated, and what it answers. All reject with a CommandFailure. */
export class LockCommands {
  /** Position of the last command sent. */
  lastOrder = 0;

  constructor(
    private readonly connection: CommandConnection,
    private readonly retry: Retry,
    private readonly clocks: ServerClocks,
    private readonly timing: Timing,
    private readonly publish: Publish,
  ) {}

  /** @param deadline until when it is repeated, and after which no copy of it may write (R2, R13); monotonic ms */
  async acquire(keys: LineKeys, args: AcquireArgs, deadline: number): Promise<AcquireReply> {
    const { id, wait, leaseTime, tries, maxQueue } = args;
    let unknown = false;
    const attempt = async (): Promise<RawReply> => {
      const limit = this.clockOf(keys).atMost(deadline);
      const most = maxQueue === Infinity ? -1 : maxQueue;
      try {
        return await this.run(acquire, keys, id, [wait, leaseTime, tries ? 'try' : 'wait', most, limit]);
      } catch (error) {
        const failure = toCommandFailure(error);
        unknown ||= failure.effect === 'unknown';
        throw unknown ? failure.afterUnknown() : failure;
      }
    };
    for (;;) {
      const reply = await this.retry.until(attempt, deadline);
      // The first command of a connection only learns the server's time; so does one after a step of its clock (R2).
      if (reply.status !== 'EXPIRED') return readAcquire(reply, unknown);
      if (performance.now() >= deadline) throw commandTimeout(this.timing.commandTimeout);
    }
  }

  /** Repeated until answered, at the longest for a lease, after which the server ends the grant by itself. */
  async release(keys: LineKeys, id: string, leaseTime: number): Promise<ReleaseReply> {
    const { order, sentAt, status, details } = await this.repeat(leaseTime, () =>
      this.run(release, keys, id),
    );
    return { order, sentAt, status: status === 'RELEASED' ? 'released' : 'lost', woken: named(details[0]) };
  }

  /** Repeated until answered, at the longest for a lease; without an answer the deadline in line ends the wait. */
  async leave(keys: LineKeys, { id, wait }: Pick<AcquireArgs, 'id' | 'wait'>): Promise<LeaveReply> {
    return readLeave(await this.repeat(this.timing.lease, () => this.run(leave, keys, id, [wait])));
  }

  /** Sent once: the line repeats a renewal that failed. */
  async renew(keys: LineKeys, id: string, leaseTime: number): Promise<RenewReply> {
    const limit = this.clockOf(keys).atMost(performance.now() + this.timing.commandTimeout);
    const { order, sentAt, status } = await this.run(renew, keys, id, [leaseTime, limit]);
    return {
      order,
      sentAt,
      status: status === 'RENEWED' ? 'renewed' : status === 'EXPIRED' ? 'expired' : 'gone',
    };
  }

  /** @param holder names the grant, so that a repeated command does not end the next one too; undefined: the lock is free */
  async forceRelease(keys: LineKeys, holder: string | undefined): Promise<ForceReleaseReply> {
    const run = (): Promise<RawReply> => this.run(forceRelease, keys, holder ?? '');
    const { order, sentAt, status, details } = await this.repeat(0, run);
    return { order, sentAt, status: status === 'FORCED' ? 'forced' : 'free', woken: named(details[0]) };
  }

  /** @param limit how many waiters to name */
  async inspect(keys: LineKeys, limit: number): Promise<InspectReply> {
    return readInspect(await this.repeat(0, () => this.run(inspect, keys, '', [limit])));
  }

  /** The clock of the server that keeps a lock. */
  private clockOf({ keys }: LineKeys): ServerClock {
    return this.clocks.of(this.connection.addressOf(keys[0]));
  }

  /** Repeats a command without a deadline for as long as one may take, or for `limit` ms if that is longer. */
  private repeat(limit: number, run: () => Promise<RawReply>): Promise<RawReply> {
    return this.retry.until(run, performance.now() + Math.max(limit, this.timing.commandTimeout));
  }

  /** Sends a script once. */
  private async run(
    script: Script,
    line: LineKeys,
    id: string,
    more: readonly (string | number)[] = [],
  ): Promise<RawReply> {
    const order = ++this.lastOrder;
    const sentAt = now();
    // Deadlines in line are by the clocks of the clients, as in Redisson: all hosts must agree on the time.
    const args = [id, Date.now(), line.channel, this.publish, ...more];
    const reply = await this.connection.run(script, line.keys, args);
    const [status, time, ...details] = reply as [string, number, ...(string | number)[]];
    this.clockOf(line).observe(sentAt.monotonic, performance.now(), time);
    return { status, order, sentAt, details };
  }
}
