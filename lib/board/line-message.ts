import { stateIn } from './overview-message.js';
import { holderCount, nameOf } from '../core/query/overview.js';
import { parseClientName } from '../core/port/client-name.js';
import { type LockOverview, type LockReport } from '../core/query/lock-overview.js';
import { type LockHolder, type LockSnapshot } from '../core/port/lock-store.js';

/** How many waiters of a queue are drawn; further ones are only counted. */
const MOST_WAITERS = 500;
/** How many holders of a shared lock are drawn. */
const MOST_HOLDERS = 100;

/**
 * The data for a picture of one queue. The order, the lease and the liveness of clients come from Redis; the holds of waiters and the
 * traces come from the processes.
 */
export function lineMessage(snapshot: LockSnapshot, overview: LockOverview) {
  const report = overview.locks.find(({ key }) => key === snapshot.key);
  const stateOf = stateIn(new Set(overview.silent.map(({ clientId }) => clientId)));
  const reports = new Map(report?.waiters.map((waiter) => [waiter.id, waiter]));
  return {
    key: snapshot.key,
    holder: snapshot.holder && holderOf(snapshot.holder, report, stateOf),
    shared: snapshot.holder?.share && sharedBy(snapshot, stateOf),
    kept: snapshot.kept && { ...parseClientName(snapshot.kept.who), ...snapshot.kept },
    queueLength: snapshot.queueLength,
    waiters: snapshot.waiters
      .slice(0, MOST_WAITERS)
      .map(({ id, who, waitingFor, live, deadlineLeft, share }) => {
        const reported = reports.get(id);
        return {
          ...nameOf(who, reported),
          waitingFor: waitingFor ?? reported?.waitingFor,
          live,
          deadlineLeft,
          share,
          inside: reported?.inside ?? [],
          traceId: reported?.traceId,
        };
      }),
  };
}

function sharedBy(snapshot: LockSnapshot, stateOf: ReturnType<typeof stateIn>) {
  const { holders, used, limit } = snapshot;
  return {
    used,
    limit,
    count: holderCount(snapshot),
    holders: holders.slice(0, MOST_HOLDERS).map(({ client = '', id, who, heldFor, share, live }) => ({
      ...parseClientName(who),
      id,
      heldFor,
      share,
      state: stateOf({ clientId: client, live, state: 'held' }),
    })),
  };
}

function holderOf(
  { client = '', who, token, heldFor, leaseLeft, live }: LockHolder,
  report: LockReport | undefined,
  stateOf: ReturnType<typeof stateIn>,
) {
  // A report with another token belongs to another grant, so it is ignored.
  const reported = (report?.holder?.token || undefined) === token ? report?.holder : undefined;
  return {
    ...nameOf(who, reported),
    token,
    heldFor: heldFor ?? reported?.heldFor,
    // Infinity, in the memory store, becomes null.
    leaseLeft,
    state: stateOf({ clientId: client, live, state: reported?.state ?? 'held' }),
    traceId: reported?.traceId,
  };
}
