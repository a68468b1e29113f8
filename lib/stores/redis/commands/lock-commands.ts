import {
  ScriptCommands,
  type ScriptClient,
  type Sent,
  type Values,
} from '../../redis-client/commands/script-commands.js';
import { untilGivenBack } from '../../redis-client/commands/retry.js';
import type { ScriptRunner } from '../../redis-client/commands/script.js';
import type { Subscriber } from '../../redis-client/connection/subscriber.js';
import type { Timing } from './timing.js';
import type { AcquireArgs, FinishedGrant, FinishedShares, HeartbeatArgs, RequestName } from './arguments.js';
import { markOf, withMark } from './marks.js';
import { scriptsOfClient, type ClientScripts } from './client-scripts.js';
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
  type PresentShares,
  type RawReply,
  type ReleaseReply,
} from './reply.js';

/** The keys of one lock. */
export type LineKeys = readonly [hash: string, queue: string, clients: string];

/** The client, as its commands describe it to Redis. */
interface NativeClient extends ScriptClient {
  readonly subscriber: Subscriber;
  /** host/pid, without white space */
  readonly where: string;
}

/**
 * The scripts as typed calls, with the rule by which each is repeated. Only this class knows the order of their arguments, which the
 * headers of the scripts document.
 */
export class LockCommands extends ScriptCommands<RawReply> {
  /** The highest token of all grants of this client that it has received, over all locks. */
  highestToken = 0;

  private readonly scripts: ClientScripts;

  /** @param maxLease the longest lease of a strict client, ms; undefined: not strict */
  constructor(
    private readonly self: NativeClient,
    readonly clientId: string,
    protected override readonly timing: Timing,
    maxLease: number | undefined,
  ) {
    super(self, timing);
    this.scripts = scriptsOfClient(timing, maxLease);
  }

  /** @param deadline until when the command is repeated; no copy of it writes after that (R2, R13); monotonic ms */
  acquire(keys: LineKeys, args: AcquireArgs, deadline: number): Promise<AcquireReply> {
    const { sequence, ticket, tries, maxQueue, label, share } = args;
    const lease = markOf(args);
    const values = (limit: number): Values => {
      const usual = [this.clientId, limit, sequence, label, this.highestToken];
      // Default arguments are left out: each argument costs the server time.
      const isUsual = !share && lease === '' && maxQueue === Infinity && ticket === 0 && !tries;
      if (isUsual) return [...usual, ...this.listener()];
      const most = maxQueue === Infinity ? -1 : maxQueue;
      // The arguments of acquire-shared are the same.
      return [...usual, lease, most, ticket, tries ? 'try' : 'wait', ...this.listener()];
    };
    const script = share ? this.scripts.acquireShared : this.scripts.acquire;
    return this.repeatUntil(script, keys, values, deadline, readAcquire);
  }

  /**
   * Puts `count` new requests without a gap in their sequences into the line at once.
   *
   * @param first sequence of the first
   * @param deadline as for `acquire`
   */
  join(keys: LineKeys, first: number, count: number, deadline: number): Promise<JoinReply> {
    const values = (limit: number): Values => [
      this.clientId,
      limit,
      first,
      count,
      this.highestToken,
      ...this.listener(),
    ];
    return this.repeatUntil(this.scripts.join, keys, values, deadline, readJoin);
  }

  /**
   * Ends a grant. Repeated until answered, but not after its lease, when the server ends the grant itself.
   *
   * @param markAlive whether the command also marks this client alive (R5)
   */
  release(keys: LineKeys, grant: FinishedGrant, markAlive: boolean): Promise<ReleaseReply> {
    const { first, head, unserved, leaseTime = 0, keep } = grant;
    const until = performance.now() + Math.max(this.timing.lease, leaseTime);
    const values = (): Values => {
      const usual = [this.clientId, first, head, this.restUntil(keys)];
      if (unserved.length === 0 && !markAlive && keep === undefined) return usual;
      const [alive, ...listener] = this.listenerIf(markAlive);
      return [...usual, unserved.join(','), alive!, keep ?? '', ...listener];
    };
    return this.repeat(this.scripts.release, keys, values, until, readRelease, untilGivenBack);
  }

  /**
   * Takes a request out of the line. Repeated until answered, but not after the liveness window, when the server may drop the request.
   *
   * @param markAlive as for `release`
   */
  leave(keys: LineKeys, request: RequestName, markAlive: boolean): Promise<LeaveReply> {
    const { window, commandTimeout: limit } = this.timing;
    const until = performance.now() + Math.max(window, 2 * limit);
    const { sequence, share } = request;
    const named = share ? [withMark(request), 0] : [sequence, markOf(request)];
    const values = (): Values => [this.clientId, ...named, ...this.listenerIf(markAlive)];
    const script = share ? this.scripts.releaseShared : this.scripts.leave;
    return this.repeat(script, keys, values, until, readLeave, untilGivenBack);
  }

  /**
   * Ends shared holds. Repeated until answered, but not after their lease, when the server ends them itself.
   *
   * @param markAlive as for `release`
   */
  endShares(keys: LineKeys, { requests, keep }: FinishedShares, markAlive: boolean): Promise<LeaveReply> {
    const until = performance.now() + this.timing.lease;
    const values = (): Values => [
      this.clientId,
      requests.map(withMark).join(' '),
      keep ?? 0,
      ...this.listenerIf(markAlive),
    ];
    return this.repeat(this.scripts.releaseShared, keys, values, until, readLeave, untilGivenBack);
  }

  /**
   * Sends a heartbeat once: if it fails, the next one follows anyway.
   *
   * @param ping number of a message that the server sends this client with it; 0: none
   * @param via another connection than that of all commands
   */
  async heartbeat(
    keys: LineKeys,
    { renewal, waiting }: HeartbeatArgs,
    ping: number,
    via?: ScriptRunner,
  ): Promise<HeartbeatReply> {
    const { first, leaseTime, label, served } = renewal;
    const { oldest, newest } = waiting ?? {};
    const values = (limit: number): Values => [
      this.clientId,
      limit,
      first,
      leaseTime === undefined ? '' : Math.round(leaseTime),
      label,
      served,
      waiting ? 'waiting' : 'idle',
      oldest?.sequence ?? '',
      oldest ? markOf(oldest) : '',
      ping === 0 ? '' : `ping ${ping}`,
      newest?.sequence ?? '',
      newest ? markOf(newest) : '',
      ...this.listener(),
    ];
    return readHeartbeat(await this.once(this.scripts.heartbeat, keys, values, via));
  }

  /**
   * @param named the grant to end, so that a repeated command cannot end the next grant: its first token, or `client:sequence:number` of
   *   each shared hold; undefined: clears the lock only if no script can read its grant
   */
  forceRelease(keys: LineKeys, named: number | readonly string[] | undefined): Promise<ForceReleaseReply> {
    const until = performance.now() + this.timing.commandTimeout;
    const names = typeof named === 'object' ? ['shared', ...named] : [named ?? 'unreadable'];
    const values = (): Values => [this.clientId, ...names];
    return this.repeat(this.scripts.forceRelease, keys, values, until, readForceRelease);
  }

  /** @param limit how many waiters to name */
  inspect(keys: LineKeys, limit: number): Promise<RawReply> {
    const until = performance.now() + this.timing.commandTimeout;
    const values = (): Values => [this.clientId, limit];
    return this.repeat(this.scripts.inspect, keys, values, until, (reply) => reply);
  }

  /** Notes a grant of this client, so that later tokens are higher, even on a server that lost its data and whose clock is behind. */
  saw({ first, batch }: Pick<PresentGrant, 'first' | 'batch'>): void {
    this.highestToken = Math.max(this.highestToken, first + batch.length - 1);
  }

  /** Notes shared holds of this client, whose numbers rise like tokens. */
  sawShares({ list }: Pick<PresentShares, 'list'>): void {
    for (const { number } of list) this.highestToken = Math.max(this.highestToken, number);
  }

  protected read(answer: unknown, { order, sentAt }: Sent): RawReply {
    const reply = readReply(answer, order, sentAt);
    if (reply.grant) this.saw(reply.grant);
    if (reply.shares) this.sawShares(reply.shares);
    return reply;
  }

  /**
   * Until when Redis remembers a lock that is released now and that no request waits for (Redis ms): not before the last token of the
   * grant and the deadlines of all commands sent before have passed. 0: not known, so the script reads the time itself.
   */
  private restUntil(keys: LineKeys): number {
    const until = this.clockOf(keys).atMost(performance.now() + this.timing.rest);
    return until * 1_000 > this.highestToken ? until : 0;
  }

  /** The last arguments of a command that may mark this client alive (R5): server and age of its subscription, and its process. */
  private listener(): Values {
    const { subscriber, connection, where } = this.self;
    const { upSince, serverRunId } = subscriber;
    // A subscription on another server than the one that commands go to proves nothing there (R6), nor does one that is not counted.
    const known =
      upSince !== undefined &&
      serverRunId !== undefined &&
      serverRunId === connection.serverRunId &&
      !subscriber.uncounted.has(serverRunId);
    const server = known ? serverRunId : '-';
    const subscribedFor = known ? Math.floor(performance.now() - upSince) : 0;
    return [server, subscribedFor, where];
  }

  /** @param markAlive as for `release` */
  private listenerIf(markAlive: boolean): Values {
    return markAlive ? ['waiting', ...this.listener()] : ['idle'];
  }
}
