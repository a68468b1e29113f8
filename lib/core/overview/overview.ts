import { parseClientName } from '../port/client-name.js';
import { sentenceOf } from '../errors/errors.js';
import type { HoldReport, LockOverview, LockReport, ProcessReport } from '../port/lock-overview.js';
import type { KeptKeys, LockHolder, LockSnapshot, LockStore } from '../port/lock-store.js';
import type { PeerReports } from '../port/peers.js';
import { isLong, quote, reportedKey } from '../errors/text.js';

/** How many locks are looked up in the store at a time, and after how many failures the look-up stops. */
const AT_ONCE = 50;
const MOST_FAILED = 50;
const MOST_UNEXPLAINED = 50;

type HoldState = Pick<HoldReport, 'token' | 'heldFor' | 'state'>;
type Assembled = Pick<LockOverview, 'locks' | 'processes' | 'silent' | 'problems'>;

/**
 * Combines the reports of all clients: each lock with its holder and its line. A line is ordered by the waiting times that the
 * processes report, so their clocks are not compared.
 */
export function assemble({ reports, silent, problems }: PeerReports): Assembled {
  const locks = new Map<string, LockReport>();
  const lockOf = (key: string): LockReport => {
    let lock = locks.get(key);
    if (!lock) locks.set(key, (lock = { key, holders: [], waiters: [], orphan: false }));
    return lock;
  };
  for (const process of reports) addProcess(process, lockOf);
  for (const lock of locks.values()) {
    sortHolders(lock);
    sortLine(lock);
  }
  return {
    locks: [...locks.values()].sort(byUrgency),
    processes: [...reports],
    silent: [...silent],
    problems: [...problems],
  };
}

/**
 * Adds the holders that only the store knows: of locks that have waiters but no reported holder, and of the locks in `kept`.
 *
 * @param key the only one that was asked for; undefined: all
 * @param kept keys of locks, also of processes that are gone
 */
export async function addFromStore(
  store: LockStore,
  overview: LockOverview,
  key: string | undefined,
  kept: readonly string[],
): Promise<void> {
  const unexplained = overview.locks.filter(({ holder }) => !holder).slice(0, MOST_UNEXPLAINED);
  const named = key === undefined ? undefined : reportedKey(key);
  const known = new Set(overview.locks.filter(({ holder }) => holder).map((lock) => lock.key));
  // To look up a long key, the store needs the whole key, which reports shorten.
  const wanted = unexplained.map((lock) => (lock.key === named ? key! : lock.key));
  const looked = [...new Set([...wanted, ...kept])].filter(
    (each) => !known.has(reportedKey(each)) && (each === key || !isLong(each)),
  );
  await lookUp(store, looked, overview);
  overview.locks.sort(byUrgency);
}

/** Longest wait first, then longest hold. */
function byUrgency(a: LockReport, b: LockReport): number {
  const wait = (b.waiters[0]?.waitingFor ?? 0) - (a.waiters[0]?.waitingFor ?? 0);
  return wait || (b.holder?.heldFor ?? 0) - (a.holder?.heldFor ?? 0);
}

function addProcess(process: ProcessReport, lockOf: (key: string) => LockReport): void {
  // No spread of both: V8 makes an object of two spreads at six times the cost, and there may be 10,000.
  const { clientId, host, pid } = process;
  for (const { key, ...hold } of process.holds) {
    const lock = lockOf(key);
    if (hold.share) lock.holders.push({ clientId, host, pid, ...hold });
    else if (isLater(hold, lock.holder)) lock.holder = { clientId, host, pid, ...hold };
  }
  for (const { key, ...wait } of process.waits) lockOf(key).waiters.push({ clientId, host, pid, ...wait });
}

/**
 * Whether `hold` is later than another one of the same key. Two processes may report a hold of one lock: reports are made at
 * different moments, and a section that has lost the lock may still run. Without tokens, the shorter hold is the later one.
 */
export function isLater(hold: HoldState, other: HoldState | undefined): boolean {
  if (!other) return true;
  const lost = hold.state === 'lost';
  if (lost !== (other.state === 'lost')) return !lost;
  return hold.token > other.token || (hold.token === other.token && hold.heldFor < other.heldFor);
}

/** A lock that one holder had alone, and others share by now, is reported with both. */
function sortHolders(lock: LockReport): void {
  lock.holders.sort((a, b) => b.heldFor - a.heldFor);
  if (lock.holder) lock.holders.unshift(lock.holder);
  const [first] = lock.holders;
  if (first) lock.holder = first;
}

function sortLine({ waiters }: LockReport): void {
  waiters.sort((a, b) => b.waitingFor - a.waitingFor);
  waiters.forEach((waiter, place) => {
    waiter.ahead = place;
  });
}

/** The keys of which the store has data. The store may scan all its keys. */
export async function keysInStore(store: LockStore, key: string | undefined): Promise<KeptKeys> {
  if (key !== undefined) return { keys: [key], problems: [] };
  if (store.keptKeys) return await store.keptKeys();
  const problem = `Orphans cannot be found with the store ${store.kind}: other programs use the same locks.`;
  return { keys: [], problems: store.peers ? [problem] : [] };
}

/** Looks up all `keys`, even beyond the number that a process reports: a key that is left out might be an orphan. */
async function lookUp(store: LockStore, keys: readonly string[], overview: LockOverview): Promise<void> {
  const locks = new Map(overview.locks.map((lock) => [lock.key, lock]));
  let failed = 0;
  for (let i = 0; i < keys.length; i += AT_ONCE) {
    if (failed >= MOST_FAILED) {
      overview.problems.push(`${keys.length - i} locks that no process reports were not inspected.`);
      break;
    }
    const looks = keys.slice(i, i + AT_ONCE).map((key) => look(store, key, overview));
    for (const snapshot of await Promise.all(looks)) {
      if (snapshot) addSnapshot(snapshot, overview, locks);
      else failed += 1;
    }
  }
  overview.locks = [...locks.values()];
}

/** Looks up one lock. An error becomes a problem of the overview, so that the rest of it is still shown. */
async function look(
  store: LockStore,
  key: string,
  { problems }: LockOverview,
): Promise<LockSnapshot | undefined> {
  try {
    return await store.inspect(key);
  } catch (error) {
    problems.push(`The lock ${quote(key)} could not be inspected: ${sentenceOf(error)}`);
    return undefined;
  }
}

function addSnapshot(
  { key, holders, kept }: LockSnapshot,
  overview: LockOverview,
  locks: Map<string, LockReport>,
): void {
  if (!holders[0] && !kept) return;
  const reported = reportedKey(key);
  const lock: LockReport = locks.get(reported) ?? { key, holders: [], waiters: [], orphan: false };
  locks.set(reported, lock);
  if (kept) lock.keptFor = kept.left;
  lock.holders = holders.map(reportOf);
  const [first] = lock.holders;
  if (first) lock.holder = first;
  for (const { clientId, host, pid } of lock.holders) {
    const silent = overview.silent.find((client) => client.clientId === clientId);
    if (silent && host !== '') Object.assign(silent, { host, pid });
    const answered = overview.processes.some((process) => process.clientId === clientId);
    lock.orphan ||= clientId !== '' && !silent && !answered;
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
  return {
    clientId: client,
    host,
    pid,
    ...(label !== undefined && { label }),
    heldFor,
    token,
    ...(share && { share }),
    state: 'held',
  };
}
