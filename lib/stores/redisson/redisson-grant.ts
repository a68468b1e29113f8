import { safetyMargin, type Lease } from '../../core/port/lease.js';
import type { Grant } from '../../core/port/lock-store.js';
import type { Wait } from '../../core/port/wait.js';
import type { TimedTask, TimerEntry } from '../../core/runtime/timers.js';
import { toCommandFailure } from '../redis-client/server/server-failure.js';
import { atMost, within } from '../redis-client/server/time-limit.js';
import type { Client } from './client.js';
import type { WireRequest } from './commands.js';
import type { LineKeys } from './keys.js';

const GONE = 'Redis no longer has this grant (it was released by force, or the data was lost)';

/** What a grant needs of its lock. */
interface HeldLock {
  readonly keys: LineKeys;
  /** The section of that request has ended. */
  ended(id: string): void;
  /** The next in the queue must look, because no message tells it that the lock becomes free. */
  lookWithin(ms: number): void;
}

/** The lock as one request holds it: renews the lease, and gives it back. Whether it is held, uncertain or lost, the lease knows. */
export class RedissonGrant implements Grant, TimedTask {
  timerEntry: TimerEntry | undefined;
  readonly key: string;
  readonly token = undefined;
  readonly waited: number;
  /** Otherwise the lease is fixed. */
  private renewed: boolean;
  private renewing = false;
  private nextRenewal: number;
  private released: Promise<void> | undefined;

  constructor(
    private readonly request: WireRequest & { readonly call: Wait },
    readonly lease: Lease,
    /** By the Redis clock, ms. */
    private readonly grantedAt: number,
    private readonly lock: HeldLock,
    private readonly client: Client,
  ) {
    const { key, leaseTime } = request.call;
    this.key = key;
    this.waited = request.call.waited;
    this.renewed = leaseTime === undefined;
    this.nextRenewal = performance.now() + this.interval;
    lease.onLost(() => lock.lookWithin(0));
    lease.onRenewingStopped(() => (this.renewed = false));
    this.schedule();
  }

  /** It is renewed after a third of the lease, as in Redisson. */
  private get interval(): number {
    return this.client.options.lockWatchdogTimeout / 3;
  }

  onDue(): void {
    // A lease that has run out is lost by this look at its state, before Redis gives the lock to another.
    if (this.lease.state === 'lost') return;
    if (this.renewed && !this.renewing && this.nextRenewal <= performance.now()) void this.renew();
    this.schedule();
  }

  /** It may have ended: that is checked now rather than at the next renewal. */
  renewNow(): void {
    this.nextRenewal = 0;
    this.onDue();
  }

  release(keep = 0): Promise<void> {
    return (this.released ??= this.end(keep));
  }

  async fix(leaseTime: number): Promise<void> {
    this.renewed = false;
    try {
      const { commands, options } = this.client;
      const fixed = commands.renew(this.lock.keys, { id: this.request.id, leaseTime }, 'fix');
      const { renewed, sentAt } = await within(fixed, options.commandTimeout);
      if (renewed) this.lease.fix(sentAt, leaseTime - safetyMargin(leaseTime));
      else this.lease.lose(GONE);
    } catch (error) {
      throw toCommandFailure(error).error;
    }
    this.schedule();
  }

  private async renew(): Promise<void> {
    const { lease, request, client } = this;
    this.renewing = true;
    this.nextRenewal = performance.now() + this.interval;
    try {
      const { renewed, sentAt } = await client.commands.renew(this.lock.keys, request, 'renew', () =>
        lease.suspect(),
      );
      if (renewed) lease.renew(sentAt, request.leaseTime - safetyMargin(request.leaseTime));
      else lease.lose(GONE);
    } catch (error) {
      lease.suspect();
      this.nextRenewal = Math.min(this.nextRenewal, performance.now() + toCommandFailure(error).retryAfter);
    }
    this.renewing = false;
    this.schedule();
  }

  private schedule(): void {
    const left = this.lease.remaining();
    const renewal = this.renewed && !this.renewing ? this.nextRenewal : Infinity;
    if (left > 0) this.client.timers.schedule(this, Math.min(performance.now() + left, renewal));
  }

  /** A lost grant is released, too: by the Redis clock it may not have expired yet. But it is not kept. */
  private async end(keep: number): Promise<void> {
    const { request, lock } = this;
    const { commands, timers, options, wake } = this.client;
    const keptUntil = this.lease.end() && keep > 0 ? this.grantedAt + keep : 0;
    timers.cancel(this);
    lock.ended(request.id);
    const released = commands.release(lock.keys, request, keptUntil).then(
      ({ woken }) => wake(woken),
      // The lock becomes free when the lease ends.
      () => lock.lookWithin(0),
    );
    await atMost(released, options.commandTimeout);
  }
}
