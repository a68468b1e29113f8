import { elapsedSince, safetyMargin } from '../../../core/port/lease.js';
import type { AcquireReply, RenewReply } from '../commands/reply.js';
import type { ActiveGrant, PlaceRequest } from './model.js';
import type { Line } from './state.js';

/** The request holds the lock; false if the reply took longer than its lease (M1). */
export function begin(
  line: Line,
  { id, who, leaseTime, renewed }: PlaceRequest,
  reply: Extract<AcquireReply, { readonly status: 'granted' }>,
): boolean {
  const margin = safetyMargin(leaseTime);
  const grant: ActiveGrant = {
    id,
    who,
    grantedAt: line.now.monotonic,
    leaseTime,
    margin,
    since: reply.sentAt,
    left: reply.left - margin,
    nextRenewal: renewed ? reply.sentAt.monotonic + line.timing.renewal : Infinity,
    renewing: false,
  };
  const { since, left } = grant;
  if (elapsedSince(since, line.now) >= left) return false;
  line.grants.set(id, grant);
  line.sections.set(id, { leaseTime, grantedAt: reply.grantedAt });
  line.effects.push({ type: 'grant', request: id, grant: id, since, left });
  // Those behind must ask, because no message announces the end of a lease.
  line.lookWithin(leaseTime);
  return true;
}

/** Loses grants whose leases have run out by the local clocks, before Redis gives the lock to another (R12). */
export function lookAtLeases(line: Line): void {
  for (const grant of line.grants.values()) {
    if (elapsedSince(grant.since, line.now) >= grant.left) {
      lose(line, grant.id, 'its lease ran out before it could be renewed');
    }
  }
}

export function renewIfDue(line: Line): void {
  for (const grant of line.grants.values()) {
    if (grant.renewing || grant.nextRenewal > line.now.monotonic) continue;
    grant.renewing = true;
    grant.nextRenewal = line.now.monotonic + line.timing.renewal;
    line.send({ kind: 'renew', grant });
  }
}

/** The grants may have ended: each is checked now rather than at its next renewal. */
export function renewNow(line: Line): void {
  for (const grant of line.grants.values()) if (grant.nextRenewal < Infinity) grant.nextRenewal = 0;
  renewIfDue(line);
}

/** A renewal got no reply: it is tried again, at the latest when it would be due anyway. */
export function renewalFailed(line: Line, grant: ActiveGrant, retryAfter: number): void {
  grant.renewing = false;
  const { id } = grant;
  if (line.grants.get(id) !== grant) return;
  if (grant.nextRenewal < Infinity) {
    grant.nextRenewal = Math.min(grant.nextRenewal, line.now.monotonic + retryAfter);
  }
  line.effects.push({ type: 'suspect lease', grant: id });
}

export function applyRenewal(line: Line, grant: ActiveGrant, reply: RenewReply): void {
  grant.renewing = false;
  const { id } = grant;
  if (line.grants.get(id) !== grant) return;
  if (reply.status === 'renewed') {
    grant.since = reply.sentAt;
    grant.left = grant.leaseTime - grant.margin;
    line.effects.push({ type: 'renew lease', grant: id, since: grant.since, left: grant.left });
  } else if (reply.status === 'gone') {
    lose(line, id, 'Redis no longer has this grant (it was released by force, or the data was lost)');
  } else if (grant.nextRenewal < Infinity) {
    // The command expired by the server's clock; its reply has told the time, so it is sent again.
    grant.nextRenewal = line.now.monotonic;
    renewIfDue(line);
  }
}

/** The lease is not to be renewed any more: it runs out. */
export function stopRenewing(line: Line, id: string): void {
  const grant = line.grants.get(id);
  if (grant) grant.nextRenewal = Infinity;
}

/** This client took a grant by force. The reply with that grant may still be under way. */
export function forced(line: Line, id: string): void {
  const request = line.waiting.get(id);
  if (request) request.forced = true;
  lose(line, id, 'it was released by force');
}

/** The lease of a grant is lost, and its holder has been notified. */
export function leaseLost(line: Line, id: string): void {
  // Ask now: perhaps no waiter has been woken.
  if (line.grants.delete(id)) line.lookWithin(0);
}

/** The grant is over although it was not released. */
function lose(line: Line, id: string, why: string): void {
  if (!line.grants.has(id)) return;
  line.effects.push({ type: 'lose lease', grant: id, why });
  leaseLost(line, id);
}

/**
 * A section has ended. A lost grant is released, too: by the server's clock it may not be over yet.
 *
 * @param keep ms from the grant during which nobody gets the lock
 */
export function endSection(line: Line, id: string, keep = 0): void {
  const section = line.sections.get(id);
  if (!section) return; // released before: the client closes
  const { leaseTime, grantedAt } = section;
  line.grants.delete(id);
  line.sections.delete(id);
  line.effects.push({ type: 'end lease', grant: id });
  line.send({ kind: 'release', id, leaseTime, keptUntil: keep > 0 ? grantedAt + keep : 0 });
  line.acknowledgeBy(line.now.monotonic + line.timing.commandTimeout, id);
}

/** Gives back all grants, because the client closes. */
export function giveBack(line: Line): void {
  for (const id of [...line.grants.keys()]) endSection(line, id);
}
