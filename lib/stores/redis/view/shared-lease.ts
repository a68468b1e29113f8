import type { Renewal } from '../commands/arguments.js';
import { remaining } from './lease.js';
import type { SharedHold } from './model.js';
import { endShares, loseNow, sequenceOf } from './shared-end.js';
import type { LockView } from './lock-view.js';

/** Notes when the hold runs out, by either clock (R12): holds are looked at one by one only when the first of these times has come. */
export function watch({ shares, sharesWatch }: LockView, { since, left }: SharedHold): void {
  if (shares.size === 1) Object.assign(sharesWatch, { due: Infinity, ahead: Infinity });
  sharesWatch.due = Math.min(sharesWatch.due, since.monotonic + left);
  sharesWatch.ahead = Math.min(sharesWatch.ahead, since.wall - since.monotonic);
}

/** Loses the holds whose leases have run out by the local clocks, and ends those that lost theirs and had time to stop. */
export function lookAtShares(view: LockView): void {
  const { now, shares, sharesWatch, lostShares } = view;
  if (shares.size > 0 && Math.max(now.monotonic, now.wall - sharesWatch.ahead) >= sharesWatch.due) {
    Object.assign(sharesWatch, { due: Infinity, ahead: Infinity });
    for (const hold of [...shares.values()]) {
      if (remaining(view, hold) > 0) watch(view, hold);
      else runOut(view, hold);
    }
  }
  const over = [...lostShares.values()].filter(({ stopBy }) => stopBy <= now.monotonic);
  for (const { hold } of over) lostShares.delete(hold.request.sequence);
  endShares(
    view,
    over.map(({ hold }) => hold.request),
  );
}

/** When `lookAtShares` has something to do (monotonic ms). */
export function sharesDue({ shares, sharesWatch, lostShares }: LockView): number {
  let due = shares.size > 0 ? sharesWatch.due : Infinity;
  for (const { stopBy } of lostShares.values()) due = Math.min(due, stopBy);
  return due;
}

/** The lease has run out here. Its section was notified, and has the margin of the lease to stop. */
function runOut(view: LockView, hold: SharedHold): void {
  loseNow(view, hold, 'its lease ran out before it could be renewed');
  view.lostShares.set(hold.request.sequence, { hold, stopBy: view.now.monotonic + hold.margin });
}

/** The holder found its lease over before this view did. */
export function shareLost(view: LockView, name: string): void {
  const hold = view.shares.get(sequenceOf(name));
  if (hold) runOut(view, hold);
}

export function stopRenewingShare(view: LockView, name: string): void {
  const hold = view.shares.get(sequenceOf(name));
  if (hold) hold.renewable = false;
}

/** What a heartbeat renews of the shared holds: all together; undefined if there is nothing to renew. */
export function renewalOfShares({ shares, lateShares }: LockView): Renewal | undefined {
  const renewed = [...shares.values()].find(({ renewable }) => renewable)?.request;
  const one = renewed ?? lateShares.keys().next().value;
  return one && { first: 'shared', batch: [], leaseTime: undefined, label: one.label, served: 0 };
}

/** The heartbeat got no answer. */
export function suspectShares(view: LockView): void {
  for (const { name } of view.shares.values()) view.effects.push({ type: 'suspect lease', grant: name });
}
