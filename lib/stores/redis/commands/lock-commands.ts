import { now, type Instant } from '../../../core/clock.js';
import type { CommandConnection } from '../../redis-client/command-connection.js';
import type { Retry } from '../../redis-client/retry.js';
import type { Script } from '../../redis-client/script.js';
import { commandTimeout } from '../../redis-client/server-failure.js';
import type { ServerClock } from '../../redis-client/server-clock.js';
import type { ServerClocks } from '../../redis-client/server-clock.js';
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
  type ClientInfo,
  type FinishedGrant,
  type HeartbeatArgs,
  type RequestName,
  type Values,
} from './arguments.js';
import {
  blocker,
  readAcquire,
  readJoin,
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

/** A command as it was sent. */
interface Sent {
  /** Its position among all that this client has sent. */
  readonly order: number;
  readonly at: Instant;
}

/** The scripts as typed calls: how each is asked and repeated, and what it answers. All reject with a CommandFailure. */
export class LockCommands {
  /** Position of the last command sent. */
  lastOrder = 0;
  /** Of all grants of this client that it was told of, whatever the lock. */
  highestToken = 0;

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
    return this.repeat(
      release,
      keys,
      () => releaseArguments(grant, markAlive),
      until,
      (reply) => ({
        ...reply,
        status: reply.status === 'RELEASED' ? 'released' : 'lost',
      }),
    );
  }

  /**
   * Takes a request out of the line. Repeated until the liveness window would do the same.
   *
   * @param markAlive as for `release`
   */
  leave(keys: LineKeys, request: RequestName, markAlive: boolean): Promise<LeaveReply> {
    const { window, commandTimeout: limit } = this.timing;
    const until = performance.now() + Math.max(window, 2 * limit);
    return this.repeat(
      leave,
      keys,
      () => leaveArguments(request, markAlive),
      until,
      (reply) => {
        const [holder, heldFor, ahead] = reply.details;
        return { ...reply, status: 'left', blocker: blocker(holder, heldFor), ahead: Number(ahead) };
      },
    );
  }

  /**
   * Sent once: a heartbeat that failed is followed by the next.
   *
   * @param via another connection than that of all commands
   */
  async heartbeat(
    keys: LineKeys,
    args: HeartbeatArgs,
    via: ScriptRunner = this.connection,
  ): Promise<HeartbeatReply> {
    const deadline = this.clockOf(keys).atMost(performance.now() + this.timing.commandTimeout);
    const sent = this.sent();
    const answer = await via.run(heartbeat, keys, this.args(sent, heartbeatArguments(args, deadline)));
    const reply = this.received(keys, answer, sent);
    const status = reply.status === 'RENEWED' ? 'renewed' : reply.status === 'EXPIRED' ? 'expired' : 'gone';
    return { ...reply, status, listeners: Number(reply.details[0] ?? -1) };
  }

  /**
   * @param first token of the grant to end, which names it, so that a repeated command does not end the next one too;
   *   undefined: only a grant that no script can read is cleared away
   */
  forceRelease(keys: LineKeys, first: number | undefined): Promise<ForceReleaseReply> {
    const until = performance.now() + this.timing.commandTimeout;
    return this.repeat(
      forceRelease,
      keys,
      () => [first ?? 'unreadable'],
      until,
      (reply) => ({
        ...reply,
        status: reply.status === 'FORCED' ? 'forced' : 'free',
      }),
    );
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

  /** The clock of the server that keeps a lock. */
  clockOf([hash]: LineKeys): ServerClock {
    return this.clocks.of(this.connection.addressOf(hash));
  }

  /** Repeats a command that carries `deadline` until it is answered or that has passed (R2, R13). */
  private repeatUntil<T>(
    script: Script,
    keys: LineKeys,
    values: (limit: number) => Values,
    deadline: number,
    read: (reply: RawReply, repeated: boolean) => T,
  ): Promise<T> {
    let attempts = 0;
    let expired = 0;
    const valuesNow = (): Values => {
      attempts += 1;
      return values(this.clockOf(keys).atMost(deadline));
    };
    const unlessExpired = (reply: RawReply): T | Promise<T> => {
      // What came too late wrote nothing, and no copy of it will.
      if (reply.status !== 'EXPIRED') return read(reply, attempts - expired > 1);
      // The first command of a connection only learns the server's time; so does one after a step of its clock (R2).
      expired += 1;
      if (performance.now() >= deadline) throw commandTimeout(this.timing.commandTimeout);
      return this.repeat(script, keys, valuesNow, deadline, unlessExpired);
    };
    return this.repeat(script, keys, valuesNow, deadline, unlessExpired);
  }

  /**
   * Sends a command and repeats it until it is answered or `until` (monotonic) has passed.
   *
   * Not async, and one `then`: each promise of the way of a free lock is paid for by every request.
   */
  private repeat<T>(
    script: Script,
    keys: LineKeys,
    values: () => Values,
    until: number,
    read: (reply: RawReply) => T | Promise<T>,
  ): Promise<T> {
    let sent: Sent;
    const attempt = (): Promise<unknown> => {
      sent = this.sent();
      return this.connection.run(script, keys, this.args(sent, values()));
    };
    const answered = (answer: unknown): T | Promise<T> => read(this.received(keys, answer, sent));
    return attempt().then(answered, (error: unknown) =>
      this.retry.after(error, attempt, until).then(answered),
    );
  }

  private sent(): Sent {
    return { order: ++this.lastOrder, at: now() };
  }

  private args({ at }: Sent, values: Values): Values {
    return this.info.at(at.monotonic).concat(values);
  }

  private received(keys: LineKeys, answer: unknown, { order, at }: Sent): RawReply {
    const reply = readReply(answer, order, at);
    // On a Cluster the command may have been led on to another node, which ioredis has noted by now.
    this.clockOf(keys).observe(at.monotonic, performance.now(), reply.serverTime);
    if (reply.grant) this.saw(reply.grant);
    return reply;
  }
}
