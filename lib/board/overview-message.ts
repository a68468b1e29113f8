import {
  type ClientIdentity,
  type LockOverview,
  type LockReport,
  type ProcessReport,
} from '../core/lock-overview.js';
import { type LockSnapshot } from '../core/lock-store.js';
import { parseWho } from './who.js';

/** What fits a page: the rest is counted. */
const MOST_LOCKS = 1_000;
const MOST_EDGES = 200;

type Overview = Pick<LockOverview, 'processes' | 'cycles' | 'silent'> & { locks: readonly NamedLock[] };

/** `gone`: no process that answered has the hold; the holder is the one that Redis names. */
type NamedLock = Omit<LockReport, 'holder'> & {
  holder?: (Partial<ClientIdentity> & { label?: string; heldFor?: number; state: string }) | undefined;
};

/** Holders that no process reported, by what Redis says of them. */
export function nameUnknownHolders(overview: LockOverview, snapshots: readonly LockSnapshot[]): Overview {
  const found = new Map(snapshots.map(({ key, holder }) => [key, holder]));
  const locks = overview.locks.map((lock): NamedLock => {
    const holder = lock.holder ?? found.get(lock.key);
    if (!holder || 'clientId' in holder) return lock;
    const { who, heldFor } = holder;
    return {
      ...lock,
      holder: { ...parseWho(who), ...(heldFor !== undefined && { heldFor }), state: 'silent' },
    };
  });
  return { ...overview, locks };
}

/** An overview as the page needs it: numbers in place of long lines, so that a thousand locks are little to send. */
export function overviewMessage({ locks, processes, cycles, silent }: Overview) {
  return {
    totals: {
      held: locks.filter(({ holder }) => holder).length,
      waiting: locks.reduce((sum, { waiters }) => sum + waiters.length, 0),
      longestWait: locks.reduce((longest, lock) => Math.max(longest, longestWait(lock)), 0),
    },
    locks: locks.slice(0, MOST_LOCKS).map((lock) => ({
      key: lock.key,
      holder: lock.holder,
      waiting: lock.waiters.length,
      longestWait: longestWait(lock),
      orphan: lock.orphan,
    })),
    moreLocks: Math.max(0, locks.length - MOST_LOCKS),
    processes: processes.map(processRow),
    silent,
    cycles,
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

/** Which sections wait while they hold: from the key that is held to the key that is waited for, the longest first. */
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
