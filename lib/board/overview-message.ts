import { type LockOverview, type LockReport, type ProcessReport } from '../core/query/lock-overview.js';

/** How many locks, and how many waits, the page shows; further ones are only counted. */
const MOST_LOCKS = 1_000;
const MOST_WAITS = 100;
const MOST_PROBLEMS = 10;

/** An overview for the page: numbers instead of whole queues, so that the message stays small with a thousand locks. */
export function overviewMessage({ locks, processes, silent, problems }: LockOverview) {
  const answered = new Set(processes.map(({ clientId }) => clientId));
  return {
    totals: {
      held: locks.filter(({ holder }) => holder).length,
      waiting: locks.reduce((sum, { waiters }) => sum + waiters.length, 0),
      longestWait: locks.reduce((longest, lock) => Math.max(longest, longestWait(lock)), 0),
    },
    locks: locks.slice(0, MOST_LOCKS).map((lock) => ({
      key: lock.key,
      holder: lock.holder && { ...lock.holder, answers: answered.has(lock.holder.clientId) },
      others: lock.holders.length - 1,
      keptFor: lock.keptFor,
      waiting: lock.waiters.length,
      longestWait: longestWait(lock),
      orphan: lock.orphan,
    })),
    moreLocks: Math.max(0, locks.length - MOST_LOCKS),
    processes: processes.map(processRow),
    silent,
    problems: problems.slice(0, MOST_PROBLEMS),
    waits: longestWaits(locks),
  };
}

function longestWait({ waiters }: { waiters: readonly { waitingFor: number }[] }): number {
  return waiters.reduce((longest, { waitingFor }) => Math.max(longest, waitingFor), 0);
}

function processRow({ holds, waits, ...process }: ProcessReport) {
  return {
    ...process,
    holds: holds.length,
    waits: waits.length,
    longestWait: longestWait({ waiters: waits }),
    longestHold: holds.reduce((longest, { heldFor }) => Math.max(longest, heldFor), 0),
  };
}

/** The longest waits of all locks, with the lock that each is for. */
function longestWaits(locks: readonly LockReport[]) {
  return locks
    .flatMap(({ key, waiters }) => waiters.slice(0, MOST_WAITS).map((waiter) => ({ key, ...waiter })))
    .sort((a, b) => b.waitingFor - a.waitingFor)
    .slice(0, MOST_WAITS);
}
