import { parseClientName } from '../port/client-name.js';
import { sentenceOf } from '../errors/errors.js';
import type { HoldReport, LockOverview, LockReport, ProcessReport } from './lock-overview.js';
import type { KeptKeys, LockHolder, LockSnapshot, LockStore } from '../port/lock-store.js';
import { quote, reportedKey } from '../errors/text.js';

/** How many locks are looked up in the store at a time, and after how many failures the look-up stops. */
const AT_ONCE = 50;
const MOST_FAILED = 50;

/**
 * The locks that processes report, by key: each with its holder and its queue. A queue is ordered by the waiting times that the processes
 * report, so their clocks are not compared.
 */
export function assemble(reports: readonly ProcessReport[]): Map<string, LockReport> {
  const locks = new Map<string, LockReport>();
  const lockOf = (key: string): LockReport => {
    let lock = locks.get(key);
    if (!lock) locks.set(key, (lock = { key, holders: [], waiters: [], orphan: false }));
    return lock;
  };
  for (const { clientId, host, pid, holds, waits } of reports) {
    // No spread of both: V8 makes an object of two spreads at six times the cost, and there may be 10,000.
    for (const { key, ...hold } of holds) {
      const lock = lockOf(key);
      if (hold.share) lock.holders.push({ clientId, host, pid, ...hold });
      else if (isLater(hold, lock.holder)) lock.holder = { clientId, host, pid, ...hold };
    }
    for (const { key, ...wait } of waits) lockOf(key).waiters.push({ clientId, host, pid, ...wait });
  }
  for (const lock of locks.values()) {
    lock.holders.sort((a, b) => b.heldFor - a.heldFor);
    // A lock that one holder had alone, and others share by now, is reported with both.
    if (lock.holder) lock.holders.unshift(lock.holder);
    else if (lock.holders[0]) lock.holder = lock.holders[0];
    lock.waiters.sort((a, b) => b.waitingFor - a.waitingFor);
    lock.waiters.forEach((waiter, place) => (waiter.ahead = place));
  }
  return locks;
}

/** Longest wait first, then longest hold. */
export function byUrgency(a: LockReport, b: LockReport): number {
  const wait = (b.waiters[0]?.waitingFor ?? 0) - (a.waiters[0]?.waitingFor ?? 0);
  return wait || (b.holder?.heldFor ?? 0) - (a.holder?.heldFor ?? 0);
}

/**
 * Whether `hold` is later than another one of the same key. Two processes may report a hold of one lock: reports are made at
 * different moments, and a section that has lost the lock may still run. Without tokens, the shorter hold is the later one.
 */
export function isLater(
  hold: Pick<HoldReport, 'token' | 'heldFor' | 'state'>,
  other: Pick<HoldReport, 'token' | 'heldFor' | 'state'> | undefined,
): boolean {
  if (!other) return true;
  const lost = hold.state === 'lost';
  if (lost !== (other.state === 'lost')) return !lost;
  return hold.token > other.token || (hold.token === other.token && hold.heldFor < other.heldFor);
}

/** The keys of which the store has data. The store may scan all its keys. */
export async function keysInStore(store: LockStore, key: string | undefined): Promise<KeptKeys> {
  if (key !== undefined) return { keys: [key], problems: [] };
  if (store.keptKeys) return await store.keptKeys();
  const problem = `Orphans cannot be found with the store ${store.kind}: other programs use the same locks.`;
  return { keys: [], problems: store.peers ? [problem] : [] };
}

/** Looks up `keys` in the store. An error becomes one of `problems`, so that the rest is still shown. */
export async function lookUp(
  store: LockStore,
  keys: readonly string[],
  problems: string[],
): Promise<LockSnapshot[]> {
  const found: LockSnapshot[] = [];
  const look = async (key: string): Promise<void> => {
    try {
      found.push(await store.inspect(key));
    } catch (error) {
      problems.push(`The lock ${quote(key)} could not be inspected: ${sentenceOf(error)}`);
    }
  };
  for (let i = 0; i < keys.length; i += AT_ONCE) {
    if (i - found.length >= MOST_FAILED) {
      problems.push(`${keys.length - i} locks were not looked up.`);
      break;
    }
    await Promise.all(keys.slice(i, i + AT_ONCE).map(look));
  }
  return found;
}

/** Adds the holders that only the store knows. @param gone the clients that gave no response to their names */
export function addSnapshot(
  locks: Map<string, LockReport>,
  { key, holders, kept }: LockSnapshot,
  silent: LockOverview['silent'],
  gone: ReadonlySet<string>,
): void {
  const reported = reportedKey(key);
  const lock: LockReport = locks.get(reported) ?? { key, holders: [], waiters: [], orphan: false };
  if (lock.holder || (!holders[0] && !kept)) return;
  locks.set(reported, lock);
  if (kept) lock.keptFor = kept.left;
  lock.holders = holders.map(reportOf);
  if (lock.holders[0]) lock.holder = lock.holders[0];
  for (const { clientId, host, pid } of lock.holders) {
    const mute = silent.find((client) => client.clientId === clientId);
    if (mute && host !== '') Object.assign(mute, { host, pid });
    lock.orphan ||= gone.has(clientId);
  }
}

/** A holder that only the store knows. */
function reportOf({
  client = '',
  who,
  token = 0,
  heldFor = 0,
  share,
}: LockHolder): LockReport['holders'][number] {
  const { host = '', pid = 0, label } = parseClientName(who);
  const named = label !== undefined && { label };
  return { clientId: client, host, pid, ...named, heldFor, token, ...(share && { share }), state: 'held' };
}
