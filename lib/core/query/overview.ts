import { sentenceOf } from '../errors/errors.js';
import { quote, reportedKey } from '../errors/text.js';
import { parseClientName } from '../port/client-name.js';
import type { LockHolder, LockSnapshot, LockStore, LockWaiter } from '../port/lock-store.js';
import type { ClientIdentity } from '../port/peers.js';
import type {
  HolderReport,
  HoldReport,
  LockReport,
  ProcessReport,
  WaiterReport,
  WaitReport,
} from './lock-overview.js';

/** How many locks are looked up in the store at a time, and after how many failures the look-up stops. */
const AT_ONCE = 64;
const MOST_FAILED = 50;

/** What processes report of one lock. */
export interface Reported {
  readonly holders: (ClientIdentity & HoldReport)[];
  readonly waiters: (ClientIdentity & WaitReport)[];
}

const NOTHING: Reported = { holders: [], waiters: [] };

/** What processes report, by lock: the longest wait first, then the longest hold. */
export function reportedLocks(processes: readonly ProcessReport[]): Map<string, Reported> {
  const locks = new Map<string, Reported>();
  const lockOf = (key: string): Reported => {
    let lock = locks.get(key);
    if (!lock) locks.set(key, (lock = { holders: [], waiters: [] }));
    return lock;
  };
  // No spread of both: V8 makes an object of two spreads at six times the cost, and there may be 10,000.
  for (const { clientId, host, pid, holds, waits } of processes) {
    for (const hold of holds) lockOf(hold.key).holders.push({ clientId, host, pid, ...hold });
    for (const wait of waits) lockOf(wait.key).waiters.push({ clientId, host, pid, ...wait });
  }
  for (const { holders, waiters } of locks.values()) {
    holders.sort((a, b) => b.heldFor - a.heldFor);
    waiters.sort((a, b) => b.waitingFor - a.waitingFor);
  }
  return new Map([...locks].sort(([, a], [, b]) => byUrgency(a, b)));
}

/** Longest wait first, then longest hold; the first of each lock count. */
export function byUrgency(a: Reported | LockReport, b: Reported | LockReport): number {
  const byWait = (b.waiters[0]?.waitingFor ?? 0) - (a.waiters[0]?.waitingFor ?? 0);
  return byWait || (b.holders[0]?.heldFor ?? 0) - (a.holders[0]?.heldFor ?? 0);
}

/** Looks up `keys` in the store. An error becomes one of `problems`, so that the rest is still shown. */
export async function lookUp(
  store: LockStore,
  keys: readonly string[],
  problems: string[],
): Promise<Map<string, LockSnapshot>> {
  const found = new Map<string, LockSnapshot>();
  const look = async (key: string): Promise<void> => {
    try {
      found.set(reportedKey(key), await store.inspect(key));
    } catch (error) {
      problems.push(`The lock ${quote(key)} could not be inspected: ${sentenceOf(error)}`);
    }
  };
  for (let i = 0; i < keys.length; i += AT_ONCE) {
    if (i - found.size >= MOST_FAILED) {
      problems.push(`${keys.length - i} locks were not looked up.`);
      break;
    }
    await Promise.all(keys.slice(i, i + AT_ONCE).map(look));
  }
  return found;
}

/** A lock as the store has it, with what its processes know besides. @param liveOf whether a client lives; undefined: not known */
export function describeLock(
  { key, holders, used, limit, kept, waiters, queueLength }: LockSnapshot,
  reported: Reported = NOTHING,
  liveOf: (holder: LockHolder) => boolean | undefined,
): LockReport {
  const reports = new Map(reported.waiters.map((wait) => [wait.id, wait]));
  const shown = holders.map((holder) =>
    describeHolder(holder, reportOf(holder, reported.holders), liveOf(holder)),
  );
  return {
    key,
    ...(shown[0] && { holder: shown[0] }),
    holders: shown,
    ...(used !== undefined && { used }),
    ...(limit !== undefined && { limit }),
    ...(kept && { keptFor: kept.left }),
    waiters: waiters.map((waiter, ahead) => describeWaiter(waiter, ahead, reports.get(waiter.id))),
    queueLength,
    orphan: shown.some(({ live }) => live === false),
  };
}

/** How many hold a lock; readers are counted beyond those that are named. */
export function holderCount({ holders, used = 0, limit }: LockReport | LockSnapshot): number {
  return limit === undefined ? Math.max(used, holders.length) : holders.length;
}

/** A lock that was not looked up in the store, as its processes report it. */
export function describeReported(key: string, reported: Reported): LockReport {
  const present = reported.holders.filter(({ state }) => state !== 'lost');
  // Two processes may report a hold that was passed on between their reports: the shorter one is the later.
  const last = present.some(({ share }) => !share) ? present.slice(-1) : present;
  const holders = last.map(({ key: _, ...hold }): HolderReport => ({ ...hold, live: true }));
  return {
    key,
    ...(holders[0] && { holder: holders[0] }),
    holders,
    waiters: reported.waiters.map(({ key: _, ...wait }, ahead) => ({ ...wait, ahead, live: true })),
    queueLength: reported.waiters.length,
    orphan: false,
  };
}

/** What its process reports of a hold. Shared holds have no tokens, so which of several it is cannot be told. */
function reportOf(
  { client, token, share }: LockHolder,
  holds: Reported['holders'],
): Reported['holders'][number] | undefined {
  if (share) return undefined;
  return holds.findLast(
    (hold) =>
      !hold.share &&
      (client === undefined || hold.clientId === client) &&
      (token === undefined ? hold.state !== 'lost' : hold.token === token),
  );
}

function describeHolder(
  { client = '', who, token = 0, heldFor, share, id }: LockHolder,
  reported: Reported['holders'][number] | undefined,
  live: boolean | undefined,
): HolderReport {
  return {
    clientId: reported?.clientId ?? client,
    ...nameOf(who, reported),
    heldFor: heldFor ?? reported?.heldFor ?? 0,
    token,
    ...(share && { share }),
    ...(id !== undefined && { id }),
    state: reported?.state ?? 'held',
    ...(reported?.traceId !== undefined && { traceId: reported.traceId }),
    ...(live !== undefined && { live }),
  };
}

function describeWaiter(
  { id, client = '', who, waitingFor, live, share }: LockWaiter,
  ahead: number,
  reported: Reported['waiters'][number] | undefined,
): WaiterReport {
  return {
    clientId: client,
    ...nameOf(who, reported),
    id,
    waitingFor: waitingFor ?? reported?.waitingFor ?? 0,
    ahead,
    inside: reported?.inside ?? [],
    ...(share && { share }),
    ...(reported?.traceId !== undefined && { traceId: reported.traceId }),
    live,
  };
}

/** As its process reports it, if it does: Redisson's format has no labels, and Redis keeps a part of a long one. */
export function nameOf(
  who: string,
  reported: { host: string; pid: number; label?: string } | undefined,
): { host: string; pid: number; label?: string } {
  const { host = '', pid = 0, label } = reported ?? parseClientName(who);
  return { host, pid, ...(label !== undefined && { label }) };
}
