import { parseClientName } from '../core/client-name.js';
import { type LockOverview, type LockReport } from '../core/lock-overview.js';
import { type LockHolder, type LockSnapshot } from '../core/lock-store.js';

/** How many of a line are drawn; the rest is counted. */
const MOST_WAITERS = 500;

/**
 * One lock as a picture of its line. Redis knows the order, the lease and which clients give a sign of life; the processes know
 * what a waiter holds meanwhile, and traces.
 */
export function lineMessage(snapshot: LockSnapshot, overview: LockOverview) {
  const report = overview.locks.find(({ key }) => key === snapshot.key);
  const reports = new Map(report?.waiters.map((waiter) => [waiter.id, waiter]));
  return {
    key: snapshot.key,
    holder: snapshot.holder && holderOf(snapshot.holder, report),
    queueLength: snapshot.queueLength,
    waiters: snapshot.waiters.slice(0, MOST_WAITERS).map(({ id, who, waitingFor, live }) => {
      const reported = id === undefined ? undefined : reports.get(id);
      return {
        ...parseClientName(who),
        waitingFor: waitingFor ?? reported?.waitingFor,
        live,
        inside: reported?.inside ?? [],
        traceId: reported?.traceId,
      };
    }),
  };
}

function holderOf({ who, token, heldFor, leaseLeft }: LockHolder, report: LockReport | undefined) {
  // A report of another token is of another moment.
  const reported = (report?.holder?.token || undefined) === token ? report?.holder : undefined;
  return {
    ...parseClientName(who),
    token,
    heldFor: heldFor ?? reported?.heldFor,
    // Infinity, in the memory store, becomes null.
    leaseLeft,
    state: reported?.state ?? 'held',
    traceId: reported?.traceId,
  };
}
