import { clientName } from '../../core/port/client-name.js';
import { hostname } from 'node:os';
import { Lease, now } from '../../core/port/lease.js';
import {
  LONGEST_LABEL,
  type Grant,
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

/** What ends a lease that the engine does not renew any more, as by `maxHold`. */
export interface Renewing {
  /** Milliseconds that are left of it then. */
  readonly lease: number;
  /** Called then. */
  stopped(grant: MemoryGrant): void;
}

/** The hold of one lock, or of a part of it. Without a `leaseTime` it lasts until released, because its process and the store crash together. */
export class MemoryGrant implements Grant, TimedTask {
  readonly key: string;
  readonly share: Share | undefined;
  readonly lease: Lease;
  /** When the lease ends, on the monotonic clock: a fixed one, or one that is not renewed any more. */
  due: number;
  /** Rises with every grant. */
  private readonly number = nextToken();
  private readonly since = now();

  constructor(
    private readonly request: LockRequest,
    readonly waited: number,
    private readonly onRelease: (grant: MemoryGrant, keptUntil: number) => void,
    private readonly renewing: Renewing,
  ) {
    this.key = request.key;
    this.share = request.share;
    const leaseTime = request.leaseTime ?? Infinity;
    // No margin is taken off: holder and store read the same clocks in the same thread.
    this.lease = new Lease(this.key, this.since, leaseTime);
    this.due = this.since.monotonic + leaseTime;
    this.lease.onRenewingStopped(() => {
      // A fixed lease has its end already.
      if (this.due === Infinity) void this.fix(renewing.lease);
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
      leaseLeft: this.lease.remaining(),
      ...(this.share && { share: this.share, id: this.id }),
    };
  }

  onDue(): void {
    const { leaseTime } = this.request;
    this.lease.lose(leaseTime === undefined ? 'its lease expired' : `its lease of ${leaseTime} ms expired`);
  }

  fix(leaseTime: number): Promise<void> {
    this.due = performance.now() + leaseTime;
    this.lease.fix(now(), leaseTime);
    this.renewing.stopped(this);
    return Promise.resolve();
  }

  release(keep = 0): Promise<void> {
    const inTime = this.lease.end();
    this.onRelease(this, inTime ? this.since.monotonic + keep : 0);
    return Promise.resolve();
  }
}
