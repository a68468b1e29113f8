import { clientName } from '../../core/port/client-name.js';
import { hostname } from 'node:os';
import { Lease, now, safetyMargin } from '../../core/port/lease.js';
import {
  LONGEST_LABEL,
  type Grant,
  type KeptLock,
  type LockHolder,
  type LockRequest,
  type Share,
} from '../../core/port/lock-store.js';
import { type TimedTask } from '../../core/runtime/timers.js';

const PROCESS = `${hostname()}/${process.pid}`;

/** The name of the caller in `inspect` and errors: `web-1/4711/OrdersService.pay`. */
export function who(request: LockRequest): string {
  return clientName(PROCESS, request.label.slice(0, LONGEST_LABEL));
}

let lastToken = 0;

/**
 * The next token, from one sequence for the whole process that follows the wall clock. So the tokens of a key rise even though a free
 * lock is forgotten, and also over restarts of the process.
 */
function nextToken(): number {
  lastToken = Math.max(lastToken, Date.now() * 1_000 - 1) + 1;
  return lastToken;
}

/** The lock that a grant belongs to. */
export interface GrantLine {
  /** Milliseconds that are left of a lease which is not renewed any more, as by `maxHold`. */
  readonly lease: number;
  /** Calls `grant` at `due`; no part of the lock is free of it before `endsAt`. Both on the monotonic clock. */
  schedule(grant: MemoryGrant, due: number): void;
  /** `grant` has ended, but nobody gets what it has before `keptUntil` (monotonic). */
  end(grant: MemoryGrant, keptUntil?: number): void;
  /** The time of `grant` is up: it ends now, or what it kept after its end becomes free. */
  expire(grant: MemoryGrant): void;
}

/**
 * The hold of one lock, or of a part of it. Without a `leaseTime` it lasts until released, because its process and the store crash together.
 * After its end it may keep what it had until its `holdAtLeast` has elapsed.
 */
export class MemoryGrant implements Grant, TimedTask {
  readonly key: string;
  readonly share: Share | undefined;
  readonly lease: Lease;
  /**
   * When it ends unless it is released, on the monotonic clock; the lease ends a margin earlier, as with a server. Of one that has ended, until
   * when it keeps what it had.
   */
  endsAt: number;
  /** A process with nothing else to do lives until then, as long as it holds the lock. */
  keepsAlive = true;
  /** Rises with every grant. */
  private readonly number = nextToken();
  private readonly since = now();

  constructor(
    private readonly request: LockRequest,
    readonly waited: number,
    private readonly line: GrantLine,
  ) {
    this.key = request.key;
    this.share = request.share;
    const leaseTime = request.leaseTime ?? Infinity;
    this.lease = new Lease(this.key, this.since, validity(leaseTime));
    this.endsAt = this.since.monotonic + leaseTime;
    this.lease.onRenewingStopped(() => {
      // A fixed lease has its end already.
      if (this.endsAt === Infinity) void this.fix(line.lease);
    });
  }

  get token(): number | undefined {
    return this.share ? undefined : this.number;
  }

  /** Names it among several holders. */
  get id(): string {
    return String(this.number);
  }

  describe(): LockHolder {
    return {
      who: who(this.request),
      token: this.token,
      heldFor: performance.now() - this.since.monotonic,
      leaseLeft: Math.max(0, this.endsAt - performance.now()),
      ...(this.share && { share: this.share, id: this.id }),
    };
  }

  /** It has ended, and keeps what it had until then (monotonic). */
  keepUntil(time: number): void {
    this.endsAt = time;
    this.keepsAlive = false;
  }

  describeKept(): KeptLock {
    const { who, token } = this.describe();
    return { who, token, left: this.endsAt - performance.now() };
  }

  /** Its lease has expired; or it has ended, or no longer keeps what it had. */
  onDue(): void {
    const isOver = this.endsAt <= performance.now();
    if (!isOver) this.line.schedule(this, this.endsAt);
    const { leaseTime } = this.request;
    this.lease.lose(leaseTime === undefined ? 'its lease expired' : `its lease of ${leaseTime} ms expired`);
    if (isOver) this.line.expire(this);
  }

  fix(leaseTime: number): Promise<void> {
    const since = now();
    this.endsAt = since.monotonic + leaseTime;
    this.lease.fix(since, validity(leaseTime));
    this.line.schedule(this, since.monotonic + validity(leaseTime));
    return Promise.resolve();
  }

  release(keep = 0): Promise<void> {
    const inTime = this.lease.end();
    this.line.end(this, inTime ? this.since.monotonic + keep : 0);
    return Promise.resolve();
  }
}

/** For so long a holder relies on a lease of that length, ms. */
function validity(lease: number): number {
  return lease === Infinity ? Infinity : lease - safetyMargin(lease);
}
