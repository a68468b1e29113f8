import type { LockOverview, LockQuery, LockReport, ProcessReport } from './lock-overview.js';
import { LockStoreUnavailableError } from '../errors/errors.js';
import { isLong } from '../errors/text.js';
import { parseClientName } from '../port/client-name.js';
import { requireKey } from '../options/lock-keys.js';
import type { KeptKeys, LockHolder, LockSnapshot, LockStore } from '../port/lock-store.js';
import { describeDomain, wholeNumber } from '../options/option-domains.js';
import { refuseValue, requireOptions } from '../options/refusals.js';
import { byUrgency, describeLock, describeReported, lookUp, reportedLocks } from './overview.js';
import type { PeerAnswers } from '../port/peers.js';
import { readReport, readRequest, type ReportRequest } from './report-text.js';

/** How long `query` waits for the responses of other processes, ms. */
const QUERY_TIMEOUT = 500;
/** How many locks are looked up that processes report: someone may look each second. */
const MOST_LOOKED_UP = 1_000;
/** For how long the keys of a search are good enough to look for those of silent processes, ms. */
const SEARCH_PERIOD = 10_000;
const NO_SEARCH: KeptKeys = { keys: [], problems: [] };
const NO_ANSWERS: PeerAnswers = { answers: [], missing: 0, problems: [] };

/** A client that the store, or an earlier query, names. */
type Named = LockOverview['silent'][number] & { clientId: string };

/** Shows the locks of all processes: the processes say which locks there are, and the store who holds them and who waits. */
export class Observer {
  /** The processes that the last query knew of, so that one that has become silent can be named. */
  private known = new Map<string, Named>();
  /** The last search for keys in the store. */
  private searched = { at: -Infinity, found: NO_SEARCH };

  constructor(
    private readonly store: LockStore,
    private readonly ownReport: (request: ReportRequest) => ProcessReport,
  ) {
    if (!store.peers) return;
    store.peers.onQuestion = (question) => {
      const request = readRequest(question);
      return request && JSON.stringify(ownReport(request));
    };
  }

  /** @throws LockConfigurationError, LockStoreUnavailableError */
  async query(query: LockQuery = {}): Promise<LockOverview> {
    const { request, timeout, orphans } = checked(query);
    const { key } = request;
    const answers = (await this.store.peers?.askAll(JSON.stringify(request), timeout)) ?? NO_ANSWERS;
    const { missing } = answers;
    const { reports, problems } = reportsIn(answers);
    const processes = [this.ownReport(request), ...reports];
    const reported = reportedLocks(processes);
    const kept = key !== undefined ? NO_SEARCH : await this.keysInStore(orphans, missing > 0);

    // Of a key that reports shorten, the whole is not known.
    const keys = key === undefined ? [...reported.keys()].filter((each) => !isLong(each)) : [key];
    const asked = new Set([...(orphans ? keys : keys.slice(0, MOST_LOOKED_UP)), ...kept.keys]);
    const snapshots = await lookUp(this.store, [...asked], problems);
    const { silent, liveOf } = await this.examine(processes, snapshots, missing);
    const locks = [...snapshots].flatMap(([each, snapshot]): LockReport[] => {
      const { holders, kept, queueLength } = snapshot;
      if (holders.length === 0 && !kept && queueLength === 0) return [];
      return [describeLock(snapshot, reported.get(each), liveOf)];
    });
    for (const [each, lock] of reported) {
      if (snapshots.has(each)) continue;
      const described = describeReported(each, lock);
      if (described.holder || described.queueLength > 0) locks.push(described);
    }
    return { locks: locks.sort(byUrgency), processes, silent, problems: [...problems, ...kept.problems] };
  }

  /**
   * The keys of which the store has data, if someone wants to see all or a process does not say what it has. The store scans all its keys,
   * so those who look each second get them from the last search.
   */
  private async keysInStore(orphans: boolean, isSilent: boolean): Promise<KeptKeys> {
    const { store, searched } = this;
    if (!store.keptKeys) {
      const problem = `Orphans cannot be found with the store ${store.kind}: other programs use the same locks.`;
      return orphans && store.peers ? { keys: [], problems: [problem] } : NO_SEARCH;
    }
    if (!orphans && !isSilent) return NO_SEARCH;
    if (!orphans && performance.now() - searched.at < SEARCH_PERIOD) return searched.found;
    const found = await store.keptKeys().catch((error: unknown): KeptKeys => {
      if (!(error instanceof LockStoreUnavailableError) || error.failure !== 'not-permitted') throw error;
      const problem = 'Locks that no process reports may be missing: the Redis user lacks +scan.';
      return { keys: [], problems: [problem] };
    });
    this.searched = { at: performance.now(), found };
    return found;
  }

  /** Which clients do not respond, and which are gone, of those that the store names. */
  private async examine(
    processes: readonly ProcessReport[],
    snapshots: ReadonlyMap<string, LockSnapshot>,
    missing: number,
  ): Promise<{ silent: LockOverview['silent']; liveOf: (holder: LockHolder) => boolean | undefined }> {
    const { peers } = this.store;
    const responds = new Set(processes.map(({ clientId }) => clientId));
    if (!peers) return { silent: [], liveOf: () => true };
    const others = missing > 0 ? new Map(this.known) : new Map<string, Named>();
    for (const { holders, waiters } of snapshots.values()) {
      for (const { client, who } of [...holders, ...waiters]) {
        if (client === undefined || others.get(client)?.host !== undefined) continue;
        const { host, pid } = parseClientName(who);
        others.set(client, { clientId: client, ...(host !== undefined && { host, pid: pid! }) });
      }
    }
    for (const client of responds) others.delete(client);
    const { heard, isComplete } =
      others.size > 0
        ? await peers.listening([...others.keys()])
        : { heard: new Set<string>(), isComplete: false };
    // A client that has begun to listen after the question is not silent.
    const named = missing > 0 ? [...others.values()].filter(({ clientId }) => heard.has(clientId)) : [];
    const unnamed = Array.from({ length: Math.max(0, missing - named.length) }, () => ({}));
    const answered = processes.map(({ clientId, host, pid }) => ({ clientId, host, pid }));
    this.known = new Map([...answered, ...named].map((client) => [client.clientId, client]));
    // Where other programs use the same locks, one that does not listen may be one of them.
    const canBeGone = isComplete && this.store.keptKeys !== undefined;
    const liveOf = ({ client = '', live }: LockHolder): boolean | undefined => {
      if (responds.has(client) || heard.has(client)) return true;
      return canBeGone && client !== '' ? false : live;
    };
    return { silent: [...named, ...unnamed], liveOf };
  }
}

/** The reports that can be read, and a sentence for each that cannot. */
function reportsIn({ answers, problems }: PeerAnswers) {
  const found = { reports: [] as ProcessReport[], problems: [...problems] };
  for (const [client, answer] of answers) {
    const report = readReport(client, answer);
    if (report) found.reports.push(report);
    else
      found.problems.push(
        `The response of the client ${client} cannot be read: it may run another version of nestjs-fair-lock.`,
      );
  }
  return found;
}

function checked(query: unknown): { request: ReportRequest; timeout: number; orphans: boolean } {
  requireOptions(query, ['key', 'orphans', 'timeout'], 'query');
  const { key, orphans = false, timeout = QUERY_TIMEOUT } = query;
  if (typeof orphans !== 'boolean') refuse('orphans', 'true or false', orphans);
  const whole = wholeNumber('query.timeout', timeout);
  if (whole === undefined) refuse('timeout', describeDomain('query.timeout'), timeout);
  return { request: key === undefined ? {} : { key: requireKey(key) }, timeout: whole, orphans };
}

function refuse(option: string, expected: string, got: unknown): never {
  refuseValue(`The option ${option} of query`, expected, got);
}
