import { holderCount } from '../core/query/overview.js';
import {
  type HolderReport,
  type LockOverview,
  type LockReport,
  type ProcessReport,
} from '../core/query/lock-overview.js';

/** How many locks, and how many waits, the page shows; further ones are only counted. */
const MOST_LOCKS = 1_000;
const MOST_WAITS = 100;
const MOST_PROBLEMS = 10;

/** An overview for the page: numbers instead of whole queues, so that the message stays small with a thousand locks. */
export function overviewMessage({ locks, processes, silent, problems }: LockOverview) {
  const mute = new Set(silent.map(({ clientId }) => clientId));
  const stateOf = stateIn(mute);
  return {
    totals: {
      held: locks.filter(({ holder }) => holder).length,
      waiting: locks.reduce((sum, { queueLength }) => sum + queueLength, 0),
      longestWait: locks.reduce((longest, lock) => Math.max(longest, longestWait(lock)), 0),
    },
    locks: locks.slice(0, MOST_LOCKS).map((lock) => ({
      key: lock.key,
      holder: shownHolder(lock, stateOf),
      others: holderCount(lock) - 1,
      keptFor: lock.keptFor,
      waiting: lock.queueLength,
      longestWait: longestWait(lock),
    })),
    moreLocks: Math.max(0, locks.length - MOST_LOCKS),
    processes: processes.map(processRow),
    silent,
    problems: problems.slice(0, MOST_PROBLEMS),
    waits: longestWaits(locks, mute),
  };
}

/** What the page shows of a hold: `gone`, `silent`, or the state that its process reports. */
export function stateIn(mute: ReadonlySet<string | undefined>) {
  return (hold: Pick<HolderReport, 'clientId' | 'state'> & { live?: boolean | undefined }) =>
    hold.live === false ? 'gone' : mute.has(hold.clientId) ? 'silent' : hold.state;
}

/** Of several holders, the first whose process is in trouble. */
function shownHolder({ holders }: LockReport, stateOf: ReturnType<typeof stateIn>) {
  const shown = holders.find((holder) => stateOf(holder) !== 'held') ?? holders[0];
  return shown && { ...shown, state: stateOf(shown) };
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
function longestWaits(locks: readonly LockReport[], mute: ReadonlySet<string | undefined>) {
  return locks
    .flatMap(({ key, waiters }) =>
      waiters.slice(0, MOST_WAITS).map((waiter) => ({ key, ...waiter, silent: mute.has(waiter.clientId) })),
    )
    .sort((a, b) => b.waitingFor - a.waitingFor)
    .slice(0, MOST_WAITS);
}
