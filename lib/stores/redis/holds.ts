import type { LockTimeoutError } from '../../core/errors/errors.js';
import { elapsedSince, Lease, safetyMargin, type Instant } from '../../core/port/lease.js';
import { MOST_MISSED } from '../redis-client/refusals.js';
import { Batch } from './batch.js';
import { leave } from './leave.js';
import type { LockCore } from './lock-core.js';
import type { Granted } from './reply.js';
import type { Request } from './request.js';

/** A section that lasts for longer than this (ms) after a handoff renews its first lease; shorter ones cost no heartbeat (rule 4). */
const FIRST_RENEWAL = 100;
/** Before a request asks again whose grant the replicas' server does not know, ms. */
const PAUSE = 100;

/** A lease as a command told it: `left` ms from its sending. */
interface Told {
  readonly since: Instant;
  readonly left: number;
  /** It came by a message: it is the first lease, and its end is not known exactly. */
  readonly isMessage?: boolean;
  readonly isConfirmed?: boolean;
}

/** What this client holds of one lock. */
export class Holds {
  private batch: Batch | undefined;
  /** When to renew, and when the first lease ends here (monotonic). */
  renewAt = Infinity;
  endsAt = Infinity;

  constructor(private readonly lock: LockCore) {}

  /** Redis has granted requests of this client; those that nobody wants any more are given back. */
  give(granted: Granted, told: Told): void {
    const all = granted.sequences.map((sequence) => this.lock.requests.get(sequence));
    const wanted = all.filter((request) => request?.state === 'asking' || request?.state === 'waiting');
    if (all.some((request) => request && !request.isPlain)) {
      for (const [i, request] of all.entries()) {
        if (request?.isTold(granted.token, told.since)) continue;
        if (request && wanted.includes(request)) this.enterNew(request, granted.token, told);
        else if (!request) this.giveBack(granted.sequences[i]!);
      }
      return;
    }
    const [head] = all;
    // A batch that was told before may still be held under the name of its first request.
    if (this.batch?.head.sequence === granted.sequences[0]) return;
    if (head && !wanted.includes(head) && head.number >= granted.token) return;
    if (!head || !wanted.includes(head)) return this.giveBack(granted.sequences[0]!);
    if (head.isTold(granted.token, told.since)) return;
    if (all.length === 1) return this.enterNew(head, granted.token, told);
    this.endBatch();
    const rest = all.flatMap((request, i) =>
      request && wanted.includes(request) ? { request, token: granted.token + i } : [],
    );
    for (const { request, token } of rest) {
      // Granted without a place in line: its token, like a ticket, tells when it asked.
      request.ticket ||= `${token}`;
      this.lock.move(request, 'next');
    }
    this.batch = new Batch(head, rest, told.since, told.left);
    this.serveNext(told.isMessage);
  }

  /** As `enter`, for a grant whose lease begins now: a fixed one in its full length. */
  private enterNew(request: Request, token: number, told: Told): void {
    this.enter(request, token, { ...told, left: request.fixed ?? told.left });
  }

  /** The request has the lock, for what is left of its lease. */
  enter(request: Request, token: number, { since, left, isMessage = false, isConfirmed }: Told): void {
    const { lease: usual } = this.lock.client.times;
    const { fixed } = request;
    const valid = left - safetyMargin(fixed ?? usual, left);
    const now = performance.now();
    const remaining = valid - elapsedSince(since);
    request.number = token;
    if (remaining <= 0) return this.missed(request, left - elapsedSince(since));
    if (this.lock.client.isReplicated && !isConfirmed) {
      request.isReported = false;
      this.lock.move(request, 'confirming');
      this.renewAt = now;
      return;
    }
    request.isReported = fixed !== undefined && !isMessage && !this.lock.client.isReplicated;
    request.waited = request.wait.waited;
    request.lease = new Lease(request.key, since, valid);
    request.lease.onLost(() => this.ranOut(request));
    request.lease.onRenewingStopped(() => void (request.isStopped = true));
    this.lock.move(request, 'held');
    if (!request.isReported) {
      // A turn of a batch is told to Redis, for those who inspect the lock.
      const renewal =
        isMessage || request.present !== ''
          ? now + Math.min(FIRST_RENEWAL, remaining / 3)
          : since.monotonic + Math.min(usual, left) / 3;
      this.renewAt = Math.min(this.renewAt, renewal);
    }
    this.endsAt = Math.min(this.endsAt, now + remaining);
    request.wait.serve(request);
  }

  /** A heartbeat told that the hold of a request lasts for `left` ms more from `since` on. In a batch, another may have its turn by now. */
  renewed(request: Request, since: Instant, left: number): void {
    const batch = this.batch?.head.id === request.hold ? this.batch : undefined;
    if (batch) batch.lease = { since, left, isConfirmed: true };
    const holder = batch?.present?.request ?? request;
    if (holder.state === 'confirming') {
      return this.enter(holder, holder.number, { since, left, isConfirmed: true });
    }
    if (holder.state !== 'held') return;
    if (holder === request) holder.present = '';
    const { fixed } = holder;
    holder.lease.renew(since, left - safetyMargin(fixed ?? this.lock.client.times.lease, left));
    if (fixed !== undefined) holder.isReported = true;
  }

  /** A request whose grant is not confirmed is given up. */
  giveUp(request: Request): void {
    if (this.batch?.present?.request !== request) return void this.lock.done(request.hold);
    const { head } = this.batch;
    if (!this.serveNext(true)) void this.lock.done(head.id);
  }

  /** The section of a held request has ended. A lost grant is not kept. */
  release(request: Request, keep: number | undefined): Promise<void> {
    const { batch } = this;
    const isKept = request.state === 'held' && request.lease.end();
    const hasTurn = batch?.present?.request === request;
    this.lock.move(request, 'over');
    const { hold, fixed } = request;
    const head = hasTurn ? batch.head : request;
    if (request !== head && request.mark) void this.lock.done(request.id, request.mark);
    // The rest of a lease that is not renewed any more may be too short for the next.
    if (hasTurn && isKept && keep === undefined && !request.isStopped && this.serveNext())
      return Promise.resolve();
    if (hasTurn) this.endBatch();
    if (!isKept || keep === undefined) {
      return this.lock.done(hold, hold === head.id ? head.mark : undefined, undefined, fixed);
    }
    // Redis counts from the grant of the batch, the holder from its turn.
    const waitedForTurn = hasTurn ? batch.waitedForTurn : 0;
    return this.lock.done(hold, { how: 'keep', more: Math.ceil(keep + waitedForTurn) }, undefined, fixed);
  }

  /** Whether Redis has the hold of a batch under the id of this request: that the request has ended says nothing of it. */
  isHead(request: Request): boolean {
    return this.batch?.head === request;
  }

  /** Redis has ended the hold. */
  lose(request: Request, why: string): void {
    // In a failover the two connections may lead to two servers for a while.
    if (request.state !== 'confirming') return request.lease.lose(why);
    this.endBatchOf(request);
    this.lock.askAgain(request, PAUSE);
  }

  /** Ends the leases that have run out by the clocks of this host. */
  expire(now: number): void {
    if (this.endsAt > now) return;
    this.endsAt = Infinity;
    for (const { lease, state } of this.lock.held()) {
      if (state !== 'held') continue;
      const left = lease.state === 'lost' ? 0 : lease.remaining();
      if (left > 0) this.endsAt = Math.min(this.endsAt, performance.now() + left);
    }
  }

  /** The requests of the batch that had no turn ask for their places again, before a `done` that follows passes the lock on. */
  endBatch(): void {
    const { batch } = this;
    this.batch = undefined;
    if (!batch) return;
    for (const request of batch.waiting) this.lock.askAgain(request);
    this.lock.sendAsks();
  }

  /** Ends the batch in which this request has its turn, if there is one. */
  private endBatchOf(request: Request): void {
    if (this.batch?.present?.request === request) this.endBatch();
  }

  /** What a request of the batch waits for. */
  blockerOf(request: Request): LockTimeoutError['blockedBy'] {
    return this.batch?.blockerOf(request) ?? {};
  }

  /** The next of the batch that still waits has its turn; false if there is none, or the lease has expired. */
  private serveNext(isMessage = false): boolean {
    const { batch } = this;
    const turn = batch?.next();
    if (batch && turn) {
      const { request, token } = turn;
      this.enter(request, token, { ...batch.lease, isMessage });
      // The lease of one is that of all.
      if (request.state !== 'asking') return true;
    }
    this.endBatch();
    return false;
  }

  /**
   * The grant of a request had expired before it could be entered; a lease that is always too short is refused.
   *
   * @param rest ms for which Redis may still keep that grant
   */
  private missed(request: Request, rest: number): void {
    if (request.lastMissed !== request.number) request.missed += 1;
    request.lastMissed = request.number;
    // The others that were granted with it missed it, too.
    this.endBatchOf(request);
    if (request.fixed === undefined || request.missed < MOST_MISSED) {
      return this.lock.askAgain(request, Math.max(1, rest));
    }
    void this.lock.done(request.hold);
    this.lock.end(request, 'lease too short');
  }

  /** Redis granted a request that has ended here. Its own `done` may be under way. */
  private giveBack(sequence: number): void {
    leave(this.lock, {
      id: this.lock.idOf(sequence),
      leaving: { how: 'leave', about: '' },
      fixed: undefined,
    });
  }

  /** The lease of a hold has expired, as this client sees it. Its section has the margin to stop. */
  private ranOut(request: Request): void {
    this.lock.move(request, 'lost');
    this.endBatchOf(request);
    this.lock.plan();
  }
}
