import type { LockOverview, LockQuery, ProcessReport } from './lock-overview.js';
import { requireKey } from '../options/lock-keys.js';
import type { LockStore } from '../port/lock-store.js';
import { describeDomain, wholeNumber } from '../options/option-domains.js';
import { refuseValue, requireOptions } from '../options/refusals.js';
import { addSnapshot, assemble, byUrgency, keysInStore, lookUp } from './overview.js';
import type { PeerAnswers } from '../port/peers.js';
import { readReport, readRequest, type ReportRequest } from './report-text.js';
import { isLong, reportedKey } from '../errors/text.js';

/** How long `query` waits for the responses of other processes, ms. */
const QUERY_TIMEOUT = 500;
/** Of how many locks that have waiters but no reported holder the store is asked. */
const MOST_UNEXPLAINED = 50;

/** Shows the locks of all processes: each reports its own holds and waits, and the store knows the rest. */
export class Observer {
  /** The processes that the last query knew of, so that one that has become silent can be named. */
  private known = new Map<string, LockOverview['silent'][number]>();

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
    const kept = orphans ? await keysInStore(this.store, key) : { keys: [], problems: [] };
    const found: string[] = [];
    // Looked up before the processes are asked: whoever holds a lock then is asked by name, so only one that is gone gives no response.
    const inStore = await lookUp(this.store, kept.keys, found);
    const named = inStore.flatMap(({ holders }) => holders.flatMap(clientOf));
    const answers = await this.store.peers?.askAll(JSON.stringify(request), timeout, named);
    const others = answers && reportsIn(answers);
    const processes = [this.ownReport(request), ...(others?.reports ?? [])];
    const silent = this.namesOf(answers?.silent ?? [], processes);
    const known = new Set([...processes, ...silent].map(({ clientId }) => clientId));
    const gone = new Set(named.filter((client) => !known.has(client)));
    const locks = assemble(processes);

    const unexplained = [...locks.values()]
      .sort(byUrgency)
      .filter(({ holder }) => !holder)
      .slice(0, MOST_UNEXPLAINED);
    // The store needs the whole of a long key, which reports shorten.
    const whole = (each: string): string => (key !== undefined && each === reportedKey(key) ? key : each);
    const asked = unexplained.map((lock) => lock.key).map(whole);
    const keys = [...new Set(asked)].filter((each) => each === key || !isLong(each));
    const now = await lookUp(this.store, keys, found);
    for (const snapshot of [...now, ...inStore]) addSnapshot(locks, snapshot, silent, gone);
    return {
      locks: [...locks.values()].sort(byUrgency),
      processes,
      silent,
      problems: [...(others?.problems ?? []), ...kept.problems, ...found],
    };
  }

  /** Host and process of a silent client are known if it answered an earlier query. */
  private namesOf(clients: readonly string[], processes: readonly ProcessReport[]): LockOverview['silent'] {
    const silent = clients.map((clientId) => this.known.get(clientId) ?? { clientId });
    const answered = processes.map(({ clientId, host, pid }) => ({ clientId, host, pid }));
    this.known = new Map([...answered, ...silent].map((client) => [client.clientId, client]));
    return silent;
  }
}

/** The reports that can be read, and a sentence for each that cannot. */
function reportsIn({ answers, problems }: PeerAnswers): { reports: ProcessReport[]; problems: string[] } {
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

function clientOf({ client }: { readonly client?: string }): string[] {
  return client === undefined ? [] : [client];
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
