import { controllerForMany } from '../runtime/abort-relay.js';
import { detached } from '../runtime/async-context.js';
import { emit } from '../diagnostics/diagnostics.js';
import { LockLostError } from '../errors/errors.js';
import { duration } from '../errors/text.js';

/**
 * An instant on both local clocks.
 *
 * The monotonic clock stands still while a machine is suspended; the wall clock can be set. A lease must err to
 * "lost", so elapsed time is the larger of the two differences.
 */
export interface Instant {
  readonly monotonic: number;
  readonly wall: number;
}

export function now(): Instant {
  return { monotonic: performance.now(), wall: Date.now() };
}

/** Milliseconds since `start`, by the local clock that shows more. */
export function elapsedSince(start: Instant, end = now()): number {
  return Math.max(end.monotonic - start.monotonic, end.wall - start.wall);
}

/**
 * - `held`: the last renewal was confirmed.
 * - `uncertain`: renewals are failing, but the lease has not expired; `assertHeld` passes.
 * - `lost`: the lease expired by this process's clocks, or the store reported that another grant took its place.
 * - `released`: the holder has released it.
 */
export type LeaseState = 'held' | 'uncertain' | 'lost' | 'released';

/**
 * How long a holder may still rely on its grant, by its own clocks. A lease differs from its grant: it can expire
 * while the server still keeps the grant, and it can be lost while the section still runs.
 *
 * The server's end of the lease is never earlier: time is counted from the *sending* of the command that was
 * confirmed and a margin is taken off, so `lost` fires here before the server gives the lock to another.
 */
export class Lease {
  private current: LeaseState = 'held';
  private loss: LockLostError | undefined;
  private renewingStoppedListener: (() => void) | undefined;
  private interruption: Error | undefined;
  private controller: AbortController | undefined;
  /** Why it ends though the store responds. */
  private ending: string | undefined;
  /** Since when renewals fail (monotonic). */
  private suspectedAt = 0;
  /** Calls all listeners of `onLost`. Nested calls, because a list for each lease would cost more. */
  private lostListener: ((error: LockLostError) => void) | undefined;

  /**
   * @param key the lock's name, for messages
   * @param since the instant from which `left` counts
   * @param left milliseconds of validity from `since`, margin already taken off; `Infinity`: never expires
   */
  constructor(
    private readonly key: string,
    private since: Instant = now(),
    private left: number = Infinity,
  ) {}

  /** The state right now, by the clocks: a lease that expired during a blocked event loop is lost at the first check. */
  get state(): LeaseState {
    if (this.active && this.remaining() <= 0) this.lose(this.ending ?? this.whyNotRenewed());
    return this.current;
  }

  /** Milliseconds for which the holder may still act; 0 when lost or released. */
  remaining(): number {
    if (!this.active) return 0;
    return this.left === Infinity ? Infinity : Math.max(0, this.left - elapsedSince(this.since));
  }

  /** It ends `left` ms from `since` (margin taken off), earlier or later than before. Never revives what is lost. */
  fix(since: Instant, left: number): void {
    if (this.state === 'lost' || !this.active) return;
    this.since = since;
    this.left = left;
    this.current = 'held';
  }

  /** It is not renewed: `why` completes "The lock … was lost: …" when it expires. */
  endsBecause(why: string): void {
    this.ending = why;
  }

  /** Why it was lost; undefined while it is not. */
  get lostError(): LockLostError | undefined {
    return this.state === 'lost' ? this.loss : undefined;
  }

  /** Aborts the moment the lease is lost, with the LockLostError as reason, or interrupted. Never aborts by release. */
  get signal(): AbortSignal {
    this.controller ??= controllerForMany();
    const reason = this.interruption ?? this.lostError;
    if (reason) this.controller.abort(reason);
    return this.controller.signal;
  }

  /** A renewal sent at `since` was confirmed with `left` ms (margin taken off). Never revives what is lost, never shortens. */
  renew(since: Instant, left: number): void {
    if (this.state === 'lost' || !this.active) return;
    const renewedLeft = left - elapsedSince(since);
    if (renewedLeft >= this.left - elapsedSince(this.since)) {
      this.since = since;
      this.left = left;
    }
    this.current = 'held';
  }

  /** A renewal failed or was not answered in time. */
  suspect(): void {
    if (this.state !== 'held') return;
    this.current = 'uncertain';
    this.suspectedAt = performance.now();
    emit({ type: 'uncertain', key: this.key });
  }

  /** Asks the section that runs under the lease to stop, by aborting the signal. The lock stays held. */
  interrupt(reason: Error): void {
    if (!this.active) return;
    this.interruption ??= reason;
    this.controller?.abort(reason);
  }

  /**
   * The signal aborts now and the lock is lost when the lease expires; immediately if it never would.
   * `why` completes the sentence "The lock … was lost: …".
   */
  stopRenewing(why: string): void {
    this.renewingStoppedListener?.();
    this.ending = why;
    if (this.remaining() === Infinity) this.lose(why);
    else this.interrupt(new LockLostError(this.key, why));
  }

  /** The grant ended without a release. `why` completes the sentence "The lock … was lost: …". */
  lose(why: string): void {
    if (!this.active) return;
    const error = new LockLostError(this.key, why);
    this.current = 'lost';
    this.loss = error;
    this.controller?.abort(error);
    const { lostListener } = this;
    this.lostListener = undefined;
    if (lostListener) detached(() => lostListener(error));
  }

  /** Given back: no longer held, and not lost either; false if it was lost before. */
  end(): boolean {
    if (this.state === 'lost') return false;
    this.current = 'released';
    this.lostListener = undefined;
    return true;
  }

  /** Calls `listener` when the store must stop renewing the lease. The listener must not throw. */
  onRenewingStopped(listener: () => void): void {
    this.renewingStoppedListener = listener;
  }

  /** Calls `listener` once when the lease is found lost, immediately if it already is. Listeners must not throw. */
  onLost(listener: (error: LockLostError) => void): void {
    if (this.loss) {
      listener(this.loss);
    } else if (this.active) {
      const { lostListener: earlier } = this;
      this.lostListener = earlier
        ? (error) => {
            earlier(error);
            listener(error);
          }
        : listener;
    }
  }

  /** Renewals that failed for only a moment failed because this process did not run to receive their responses. */
  private whyNotRenewed(): string {
    const without = elapsedSince(this.since);
    const failing = this.current === 'uncertain' && performance.now() - this.suspectedAt > without / 10;
    if (failing) return `its lease expired, because Redis has not renewed it for ${duration(without)}`;
    const late = without - this.left;
    const ago = late < WORTH_TELLING ? '' : ` ${duration(late)} ago,`;
    return (
      `its lease expired${ago} because this process did not run meanwhile (a blocked event loop, a stopped ` +
      'process or host)'
    );
  }

  /** Whether the lease is neither lost nor released, without a look at the clocks. */
  private get active(): boolean {
    return this.current === 'held' || this.current === 'uncertain';
  }
}

/** Why a lock was lost that an operator took from its holder: completes "The lock … was lost: …". */
export const BY_FORCE = 'it was released by force';

/** From when on a message says how late a loss was found, ms. */
const WORTH_TELLING = 1_000;

/** Servers count whole milliseconds, so they may end a lease up to this much (ms) earlier than they say. */
const ROUNDING = 1;

/**
 * How much earlier than the server this side ends a lease (ms), so that `lost` fires before the server gives the lock to another:
 * max(100 ms, a tenth), but at most half of a short fixed lease, which would otherwise be lost from the start.
 *
 * @param lease the full lease, ms
 * @param given the part of it that the server has granted now (ms); the margin is a tenth of this part
 */
export function safetyMargin(lease: number, given = lease): number {
  return Math.max(ROUNDING, Math.min(Math.max(100, Math.min(lease, given) / 10), lease / 2));
}
