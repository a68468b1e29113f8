import {
  ScriptCommands,
  type ScriptClient,
  type Sent,
  type Values,
} from '../../redis-client/script-commands.js';
import { untilGivenBack, type RetryRule } from '../../redis-client/retry.js';
import type { Script } from '../../redis-client/script.js';
import type { LineKeys } from '../line-keys.js';
import { acquire, forceRelease, inspect, leave, release, renew } from '../scripts.generated.js';
import type { Timing } from '../timing.js';
import {
  readAcquire,
  readForceRelease,
  readInspect,
  readLeave,
  readRelease,
  readRenewal,
  readReply,
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

/** The scripts as typed calls: how each is asked and repeated, and what it answers. */
export class LockCommands extends ScriptCommands<RawReply> {
  constructor(
    client: ScriptClient,
    protected override readonly timing: Timing,
    private readonly publish: Publish,
  ) {
    super(client, timing);
  }

  /** @param deadline until when it is repeated, and after which no copy of it may write (R2, R13); monotonic ms */
  acquire(line: LineKeys, args: AcquireArgs, deadline: number): Promise<AcquireReply> {
    const { id, wait, leaseTime, tries, maxQueue } = args;
    const most = maxQueue === Infinity ? -1 : maxQueue;
    const values = (limit: number): Values =>
      this.values(line, id, wait, leaseTime, tries ? 'try' : 'wait', most, limit);
    return this.repeatUntil(acquire, line.keys, values, deadline, readAcquire);
  }

  /** Repeated until answered, at the longest for a lease, after which the server ends the grant by itself. */
  release(line: LineKeys, id: string, leaseTime: number): Promise<ReleaseReply> {
    return this.repeatFor(leaseTime, release, line, () => this.values(line, id), readRelease, untilGivenBack);
  }

  /** Repeated until answered, at the longest for a lease; without an answer the deadline in line ends the wait. */
  leave(line: LineKeys, { id, wait }: Pick<AcquireArgs, 'id' | 'wait'>): Promise<LeaveReply> {
    const values = (): Values => this.values(line, id, wait);
    return this.repeatFor(this.timing.lease, leave, line, values, readLeave, untilGivenBack);
  }

  /** Sent once: the line repeats a renewal that failed. */
  async renew(line: LineKeys, id: string, leaseTime: number): Promise<RenewReply> {
    const values = (limit: number): Values => this.values(line, id, leaseTime, limit);
    return readRenewal(await this.once(renew, line.keys, values));
  }

  /** @param holder names the grant, so that a repeated command does not end the next one too; undefined: the lock is free */
  forceRelease(line: LineKeys, holder = ''): Promise<ForceReleaseReply> {
    return this.repeatFor(0, forceRelease, line, () => this.values(line, holder), readForceRelease);
  }

  /** @param limit how many waiters to name */
  inspect(line: LineKeys, limit: number): Promise<InspectReply> {
    return this.repeatFor(0, inspect, line, () => this.values(line, '', limit), readInspect);
  }

  protected read(answer: unknown, sent: Sent): RawReply {
    return readReply(answer, sent);
  }

  /** Repeats a command without a deadline for as long as one may take, or for `limit` ms if that is longer. */
  private repeatFor<T>(
    limit: number,
    script: Script,
    { keys }: LineKeys,
    values: () => Values,
    read: (reply: RawReply) => T,
    rule?: RetryRule,
  ): Promise<T> {
    const until = performance.now() + Math.max(limit, this.timing.commandTimeout);
    return this.repeat(script, keys, values, until, read, rule);
  }

  /** Deadlines in line are by the clocks of the clients, as in Redisson: all hosts must agree on the time. */
  private values({ channel }: LineKeys, id: string, ...more: Values): Values {
    return [id, Date.now(), channel, this.publish, ...more];
  }
}
