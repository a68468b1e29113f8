import { type LockOverview, type ProcessReport } from '../core/query/lock-overview.js';

/** How many locks and edges the page shows; further ones are only counted. */
const MOST_LOCKS = 1_000;
const MOST_EDGES = 200;
const MOST_PROBLEMS = 10;

/** An overview for the page: numbers instead of whole queues, so that the message stays small with a thousand locks. */
export function overviewMessage({ locks, processes, cycles, silent, problems }: LockOverview) {
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
    cycles,
    problems: problems.slice(0, MOST_PROBLEMS),
    edges: edgesOf(processes),
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

/** The waits of sections that hold a lock, as edges from the held key to the awaited key, the longest wait first. */
function edgesOf(processes: readonly ProcessReport[]) {
  const edges = new Map<string, { from: string; to: string; flows: number; waitingFor: number }>();
  for (const { waits } of processes) {
    for (const { key, inside, waitingFor } of waits) {
      for (const from of inside) {
        const id = JSON.stringify([from, key]);
        const edge = edges.get(id) ?? { from, to: key, flows: 0, waitingFor: 0 };
        edge.flows += 1;
        edge.waitingFor = Math.max(edge.waitingFor, waitingFor);
        edges.set(id, edge);
      }
    }
  }
  return [...edges.values()].sort((a, b) => b.waitingFor - a.waitingFor).slice(0, MOST_EDGES);
}
