import { abortError, type FairLockError, LockQueueFullError, LockTimeoutError } from '../../core/errors.js';
import { LinkedList } from '../../core/linked-list.js';
import { type Grant, type LockRequest, type LockSnapshot } from '../../core/lock-store.js';
import { type LeaseEnds } from './lease-ends.js';
import { MemoryGrant, who } from './memory-grant.js';
import { Waiter, type WaiterExits } from './waiter.js';

/** How many waiters `inspect` shows, and up to how many ahead a timeout error counts. */
const MAX_SHOWN = 1_000;

/** One lock: its holder and its waiters. Requests wait only while there is a holder; without one the line is forgotten. */
export class MemoryLine implements WaiterExits {
  private holder: MemoryGrant | undefined;
  private readonly waiters = new LinkedList<Waiter>();

  constructor(
    private readonly key: string,
    private readonly leaseEnds: LeaseEnds,
    /** Called when the lock has neither a holder nor waiters, so that the line can be forgotten. */
    private readonly onIdle: () => void,
  ) {}

  /**
   * Ends a lease that is over by the clock although its timer has not fired yet (a blocked event loop).
   * Reading the state is enough: the lease notifies its holder, then `end` is called.
   */
  settle(): void {
    void this.holder?.lease.state;
  }

  async acquire(request: LockRequest): Promise<Grant> {
    if (!this.holder) return this.grant(request, 0);
    if (request.waitTime <= 0) throw this.timeoutError(request, this.waiters.size);
    if (this.waiters.size >= request.maxQueue) throw new LockQueueFullError(this.key, request.maxQueue);
    return await new Promise((resolve, reject) => {
      const ahead = this.waiters.size;
      const waiter = new Waiter(request, this, resolve, reject);
      this.waiters.add(waiter);
      waiter.watch();
      try {
        // Last, because it may do anything: abort this very wait, or throw.
        request.onQueued?.(ahead);
      } catch (error) {
        this.waiters.delete(waiter);
        waiter.refuse(error);
      }
    });
  }

  overdue(waiter: Waiter): void {
    const error = this.timeoutError(waiter.request, countAhead(waiter));
    this.waiters.delete(waiter);
    waiter.refuse(error);
  }

  aborted(waiter: Waiter): void {
    this.waiters.delete(waiter);
    waiter.refuse(abortError(waiter.request.key, waiter.request.signal?.reason));
  }

  /** Of the holder. */
  get token(): number | undefined {
    return this.holder?.token;
  }

  forceRelease(): void {
    this.holder?.lease.lose('it was released by force');
  }

  inspect(): LockSnapshot {
    const waiters = [];
    for (let waiter = this.waiters.first; waiter && waiters.length < MAX_SHOWN; waiter = waiter.next) {
      waiters.push({ who: who(waiter.request), waitingFor: waiter.waited, live: true });
    }
    return { key: this.key, holder: this.holder?.describe(), waiters, queueLength: this.waiters.size };
  }

  /** Refuses every waiter with what `error` makes, then ends the grant. */
  close(error: () => FairLockError): void {
    for (let first = this.next(); first; first = this.next()) first.refuse(error());
    void this.holder?.release();
  }

  private grant(request: LockRequest, waited: number): MemoryGrant {
    const grant = new MemoryGrant(request, waited, this.end);
    this.holder = grant;
    // The lease aborts the signal of its holder before it calls this listener, so the next holder starts after that.
    grant.lease.onLost(() => this.end(grant));
    this.leaseEnds.watch(grant);
    return grant;
  }

  /** Hands the lock on, if `grant` is still the present one. */
  private readonly end = (grant: MemoryGrant): void => {
    if (this.holder !== grant) return;
    this.holder = undefined;
    this.leaseEnds.forget(grant);
    const next = this.next();
    if (next) next.serve(this.grant(next.request, next.waited));
    else this.onIdle();
  };

  /** Takes the first waiter out of the line. */
  private next(): Waiter | undefined {
    const { first } = this.waiters;
    if (first) this.waiters.delete(first);
    return first;
  }

  private timeoutError(request: LockRequest, ahead: number | undefined): LockTimeoutError {
    const holder = this.holder?.describe();
    return new LockTimeoutError(this.key, request.waitTime, {
      ...(holder && { holder: holder.who, heldFor: holder.heldFor }),
      ...(ahead !== undefined && { ahead }),
    });
  }
}

/** Undefined if they are more than `MAX_SHOWN`, so that asking costs no more than that. */
function countAhead(waiter: Waiter): number | undefined {
  let ahead = 0;
  for (let other = waiter.previous; other; other = other.previous) {
    if (ahead === MAX_SHOWN) return undefined;
    ahead += 1;
  }
  return ahead;
}
