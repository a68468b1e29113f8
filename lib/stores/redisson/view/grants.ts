import { elapsedSince, safetyMargin } from '../../../core/port/lease.js';
import type { AcquireReply, RenewReply } from '../commands/reply.js';
import type { ActiveGrant, PlaceRequest } from './model.js';
import type { LockView } from './lock-view.js';

/** The request holds the lock; false if the reply took longer than its lease (M1). */
export function begin(
  view: LockView,
  { id, who, leaseTime, renewed }: PlaceRequest,
  reply: Extract<AcquireReply, { readonly status: 'granted' }>,
): boolean {
  const margin = safetyMargin(leaseTime);
  const grant: ActiveGrant = {
    id,
    who,
    grantedAt: view.now.monotonic,
    leaseTime,
    margin,
    since: reply.sentAt,
    left: reply.left - margin,
    nextRenewal: renewed ? reply.sentAt.monotonic + view.timing.renewal : Infinity,
    renewing: false,
  };
  const { since, left } = grant;
  if (elapsedSince(since, view.now) >= left) return false;
  view.grants.set(id, grant);
  view.sections.set(id, { leaseTime, grantedAt: reply.grantedAt });
  view.effects.push({ type: 'grant', request: id, grant: id, since, left });
  // Those behind must ask, because no message announces the end of a lease.
  view.lookWithin(leaseTime);
  return true;
}

/** Loses grants whose leases have run out by the local clocks, before Redis gives the lock to another (R12). */
export function lookAtLeases(view: LockView): void {
  for (const grant of view.grants.values()) {
    if (elapsedSince(grant.since, view.now) >= grant.left) {
      lose(view, grant.id, 'its lease ran out before it could be renewed');
    }
  }
}

export function renewIfDue(view: LockView): void {
  for (const grant of view.grants.values()) {
    if (grant.renewing || grant.nextRenewal > view.now.monotonic) continue;
    grant.renewing = true;
    grant.nextRenewal = view.now.monotonic + view.timing.renewal;
    view.send({ kind: 'renew', grant });
  }
}

/** The grants may have ended: each is checked now rather than at its next renewal. */
export function renewNow(view: LockView): void {
  for (const grant of view.grants.values()) if (grant.nextRenewal < Infinity) grant.nextRenewal = 0;
  renewIfDue(view);
}

/** A renewal got no reply: it is tried again, at the latest when it would be due anyway. */
export function renewalFailed(view: LockView, grant: ActiveGrant, retryAfter: number): void {
  grant.renewing = false;
  const { id } = grant;
  if (view.grants.get(id) !== grant) return;
  if (grant.nextRenewal < Infinity) {
    grant.nextRenewal = Math.min(grant.nextRenewal, view.now.monotonic + retryAfter);
  }
  view.effects.push({ type: 'suspect lease', grant: id });
}

export function applyRenewal(view: LockView, grant: ActiveGrant, reply: RenewReply): void {
  grant.renewing = false;
  const { id } = grant;
  if (view.grants.get(id) !== grant) return;
  if (reply.status === 'renewed') {
    grant.since = reply.sentAt;
    grant.left = grant.leaseTime - grant.margin;
    view.effects.push({ type: 'renew lease', grant: id, since: grant.since, left: grant.left });
  } else if (reply.status === 'gone') {
    lose(view, id, 'Redis no longer has this grant (it was released by force, or the data was lost)');
  } else if (grant.nextRenewal < Infinity) {
    // The command expired by the server's clock; its reply has told the time, so it is sent again.
    grant.nextRenewal = view.now.monotonic;
    renewIfDue(view);
  }
}

/** The lease is not to be renewed any more: it runs out. */
export function stopRenewing(view: LockView, id: string): void {
  const grant = view.grants.get(id);
  if (grant) grant.nextRenewal = Infinity;
}

/** This client took a grant by force. The reply with that grant may still be under way. */
export function forced(view: LockView, id: string): void {
  const request = view.waiting.get(id);
  if (request) request.forced = true;
  lose(view, id, 'it was released by force');
}

/** The lease of a grant is lost, and its holder has been notified. */
export function leaseLost(view: LockView, id: string): void {
  // Ask now: perhaps no waiter has been woken.
  if (view.grants.delete(id)) view.lookWithin(0);
}

/** The grant is over although it was not released. */
function lose(view: LockView, id: string, why: string): void {
  if (!view.grants.has(id)) return;
  view.effects.push({ type: 'lose lease', grant: id, why });
  leaseLost(view, id);
}

/**
 * A section has ended. A lost grant is released, too: by the server's clock it may not be over yet.
 *
 * @param keep ms from the grant during which nobody gets the lock
 */
export function endSection(view: LockView, id: string, keep = 0): void {
  const section = view.sections.get(id);
  if (!section) return; // released before: the client closes
  const { leaseTime, grantedAt } = section;
  view.grants.delete(id);
  view.sections.delete(id);
  view.effects.push({ type: 'end lease', grant: id });
  view.send({ kind: 'release', id, leaseTime, keptUntil: keep > 0 ? grantedAt + keep : 0 });
  view.acknowledgeBy(view.now.monotonic + view.timing.commandTimeout, id);
}

/** Gives back all grants, because the client closes. */
export function giveBack(view: LockView): void {
  for (const id of [...view.grants.keys()]) endSection(view, id);
}
