import { Lease } from '../../core/lease.js';
import type { Grant } from '../../core/lock-store.js';
import type { Watched } from '../../core/watchdog.js';
import { safetyMargin } from '../redis-client/safety-margin.js';
import { toCommandFailure } from '../redis-client/server-failure.js';
import type { ClientContext } from './client-context.js';
import type { Answer } from './line-commands.js';
import type { LineKeys } from './line-keys.js';
import type { Waiter } from './waiter.js';

/**
 * A grant that this client has: renewed by the watchdog until it is released or lost.
 *
 * Nested holds are the engine's, so the hold count in Redis is never above one.
 */
export class HeldGrant implements Watched, Grant {
  readonly token = undefined;
  readonly key: string;
  readonly lease: Lease;
  readonly waited: number;
  readonly since = performance.now();

  private readonly margin: number;
  private nextRenewal = Infinity;
  private renewing = false;
  private released: Promise<void> | undefined;

  /**
   * @param held the answer that granted it, which says how much of the lease was left then (M1)
   * @param onOver called when it is lost, and when it is released, with the head of the queue that was woken if there is an answer
   */
  constructor(
    private readonly waiter: Waiter,
    private readonly keys: LineKeys,
    private readonly context: ClientContext,
    held: Answer,
    private readonly onOver: (woken?: string) => void,
  ) {
    this.key = waiter.request.key;
    this.waited = waiter.waited;
    this.margin = safetyMargin(waiter.leaseTime);
    this.lease = new Lease(this.key, held.sentAt, Number(held.details[0]) - this.margin);
    if (waiter.renewed) this.nextRenewal = held.sentAt.monotonic + context.timing.renewal;
  }

  get id(): string {
    return this.waiter.id;
  }

  get who(): string {
    return this.waiter.who;
  }

  /** Begins to watch the lease. */
  begin(): void {
    this.lease.onLost(() => {
      this.context.watchdog.cancel(this);
      this.onOver();
    });
    this.schedule();
  }

  /** Whether it still counts may have changed: asks, rather than wait for the next renewal. */
  renewNow(): void {
    if (!this.waiter.renewed) return;
    this.nextRenewal = 0;
    this.schedule();
  }

  onDue(): void {
    // Looking at the state is what makes a lease that ran out lost (R12).
    if (this.lease.state === 'lost' || this.lease.state === 'released') return;
    if (performance.now() >= this.nextRenewal && this.lease.renewable && !this.renewing) void this.renew();
    this.schedule();
  }

  release(): Promise<void> {
    this.released ??= this.giveBack();
    return this.released;
  }

  /** Also if it is lost: by the server's clock it may not have ended yet, and whoever worked under it has stopped. */
  private giveBack(): Promise<void> {
    const { commands, retry, watchdog, timing } = this.context;
    const until = performance.now() + Math.max(this.waiter.leaseTime, timing.commandTimeout);
    this.lease.end();
    watchdog.cancel(this);
    // Without an answer the end of the lease gives the lock on.
    const acknowledged = retry
      .until(() => commands.release(this.keys, this.id), until)
      .then(
        ({ details }) => this.onOver(String(details[0])),
        () => this.onOver(),
      );
    return retry.atMost(acknowledged, timing.commandTimeout);
  }

  /** Never rejects. */
  private async renew(): Promise<void> {
    const { commands, timing } = this.context;
    this.renewing = true;
    this.nextRenewal = performance.now() + timing.renewal;
    try {
      const deadline = performance.now() + timing.commandTimeout;
      const { status, sentAt } = await commands.renew(this.keys, this.id, this.waiter.leaseTime, deadline);
      if (status === 'RENEWED') this.lease.renew(sentAt, this.waiter.leaseTime - this.margin);
      else if (status === 'GONE') {
        this.lease.lose('Redis no longer has this grant (it was released by force, or the data was lost)');
      } else this.nextRenewal = 0; // too late by Redis time, which is known better now
    } catch (error) {
      this.lease.doubt();
      this.nextRenewal = Math.min(this.nextRenewal, performance.now() + toCommandFailure(error).retryAfter);
    }
    this.renewing = false;
    this.schedule();
  }

  private schedule(): void {
    const { state } = this.lease;
    if (state === 'lost' || state === 'released') return;
    const ends = performance.now() + this.lease.remaining();
    const renews = this.renewing || !this.lease.renewable ? Infinity : this.nextRenewal;
    this.context.watchdog.schedule(this, Math.min(ends, renews));
  }
}
