import {
  ScriptCommands,
  type ScriptClient,
  type Sent,
  type Values,
} from '../../redis-client/commands/script-commands.js';
import { untilGivenBack, type RetryRule } from '../../redis-client/commands/retry.js';
import { script, type Script } from '../../redis-client/commands/script.js';
import type { LineKeys } from './line-keys.js';
import * as texts from '../scripts/scripts.generated.js';
import type { Timing } from './timing.js';
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

const { acquire, forceRelease, inspect, leave, release, renew } = Object.fromEntries(
  Object.entries(texts).map(([key, [name, numberOfKeys, ...parts]]) => [
    key,
    script(name, numberOfKeys, ...parts),
  ]),
) as Record<keyof typeof texts, Script>;

/** A request as the acquire script needs it. */
export interface AcquireArgs {
  /** `<uuid of the client>:<thread number>` */
  readonly id: string;
  /** The wait time from which deadlines in line are computed, ms. */
  readonly wait: number;
  /** Milliseconds. */
  readonly leaseTime: number;
  /** The request is a try: it never waits in line. */
  readonly tries: boolean;
  readonly maxQueue: number;
}

/**
 * The commands that wake a waiter. Redisson listens to sharded channels on a Cluster that has them, else to classic ones. On a Cluster
 * scripts publish on both, because they cannot know which version listens.
 */
export type Publish = 'PUBLISH' | 'PUBLISH SPUBLISH';

/** The scripts as typed calls, with the rule by which each is repeated. */
export class LockCommands extends ScriptCommands<RawReply> {
  constructor(
    client: ScriptClient,
    protected override readonly timing: Timing,
    private readonly publish: Publish,
  ) {
    super(client, timing);
  }

  /** @param deadline until when the command is repeated; no copy of it writes after that (R2, R13); monotonic ms */
  acquire(line: LineKeys, args: AcquireArgs, deadline: number): Promise<AcquireReply> {
    const { id, wait, leaseTime, tries, maxQueue } = args;
    const most = maxQueue === Infinity ? -1 : maxQueue;
    const values = (limit: number): Values =>
      this.values(line, id, wait, leaseTime, tries ? 'try' : 'wait', most, limit);
    return this.repeatUntil(acquire, line.keys, values, deadline, readAcquire);
  }

  /**
   * Ends a grant. Repeated until answered, but not after its lease, when the server ends the grant itself.
   *
   * @param keptUntil until when nobody gets the lock (Redis ms); 0: it is not kept
   */
  release(line: LineKeys, id: string, leaseTime: number, keptUntil: number): Promise<ReleaseReply> {
    const values = (): Values => this.values(line, id, keptUntil);
    return this.repeatFor(leaseTime, release, line, values, readRelease, untilGivenBack);
  }

  /** Leaves the line. Repeated until answered, at most for a lease; without an answer the deadline in line ends the wait. */
  leave(line: LineKeys, { id, wait }: Pick<AcquireArgs, 'id' | 'wait'>): Promise<LeaveReply> {
    const values = (): Values => this.values(line, id, wait);
    return this.repeatFor(this.timing.lease, leave, line, values, readLeave, untilGivenBack);
  }

  /** Sent once: the view repeats a renewal that failed. */
  async renew(line: LineKeys, id: string, leaseTime: number): Promise<RenewReply> {
    const values = (limit: number): Values => this.values(line, id, leaseTime, limit);
    return readRenewal(await this.once(renew, line.keys, values));
  }

  /** @param holder names the grant, so that a repeated command cannot end the next one; undefined: the lock is free */
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

  /** Deadlines in line use the clocks of the clients, as in Redisson, so all hosts must agree on the time. */
  private values({ channel }: LineKeys, id: string, ...more: Values): Values {
    return [id, Date.now(), channel, this.publish, ...more];
  }
}
