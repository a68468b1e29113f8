import { elapsedSince, safetyMargin, type Instant } from '../../../core/port/lease.js';
import type { LeaseHere } from './model.js';
import type { LockView } from './lock-view.js';

/**
 * By how much this side ends a lease earlier than the server (R12, safety margin), ms.
 *
 * @param leaseTime the fixed lease, undefined: renewed
 * @param given what the server has granted now
 */
export function marginOf(view: LockView, leaseTime: number | undefined, given: number): number {
  return safetyMargin(leaseTime ?? view.settings.timing.lease, given);
}

/** Milliseconds for which this client may act on the grant. */
export function remaining(view: LockView, { since, left }: Pick<LeaseHere, 'since' | 'left'>): number {
  return left - elapsedSince(since, view.now);
}

/**
 * Milliseconds after which Redis must have ended the grant as well, if it is not renewed. Uses only the monotonic clock: the wall
 * clock may have been set, and the result must not be too short.
 */
function serverLeft(view: LockView, { since, left, margin }: LeaseHere): number {
  return Math.max(0, left + margin - (view.now.monotonic - since.monotonic));
}

/** Whether the lease counts as over only because the wall clock was set since it began. */
export function isOverByWallClock(view: LockView, lease: LeaseHere): boolean {
  return remaining(view, lease) <= 0 && serverLeft(view, lease) > lease.margin;
}

/**
 * Applies a renewal that was sent at `since` and left `given` ms of the lease (M1, M2). Never shortens it.
 *
 * @param grant names the hold whose section runs under the lease; undefined: there is none
 */
export function renew(
  view: LockView,
  lease: LeaseHere,
  grant: number | string | undefined,
  renewal: { readonly since: Instant; readonly left: number; readonly leaseTime?: number | undefined },
): void {
  const { since } = renewal;
  const margin = marginOf(view, renewal.leaseTime, renewal.left);
  const left = renewal.left - margin;
  if (remaining(view, { since, left }) >= remaining(view, lease))
    Object.assign(lease, { since, left, margin });
  if (grant !== undefined) view.effects.push({ type: 'renew lease', grant, since, left });
}

/**
 * Whether an answer came later than any command is waited for: this process, or its host, stood still. A former primary that stood
 * still as well may have given it after a failover. So a heartbeat asks again for what it grants or renews.
 */
export function cameLate({ now, settings }: LockView, { since }: { readonly since: Instant }): boolean {
  return elapsedSince(since, now) > settings.timing.commandTimeout;
}
