import { clientName } from '../port/client-name.js';
import { LockHolderChangedError } from '../errors/errors.js';
import type { HoldReport, LockOverview, LockQuery, ProcessReport } from '../port/lock-overview.js';
import { requireKey } from '../options/lock-keys.js';
import type { LockSnapshot, LockStore } from '../port/lock-store.js';
import { describeDomain, wholeNumber } from '../options/option-domains.js';
import { refuseValue, requireOptions } from '../options/refusals.js';
import { addFromStore, assemble, isLater, keysInStore } from './overview.js';
import type { PeerReports, ReportRequest } from '../port/peers.js';
import { reportedKey } from '../errors/text.js';
import { findCycles, seenTwice } from './wait-cycles.js';

/** How long `query` waits for the answers of other processes, ms. */
const QUERY_TIMEOUT = 500;
/** How long to wait for reports of processes that are asked individually, ms: for labels, or before a lock counts as an orphan. */
const BY_NAME_TIMEOUT = 250;

/** Shows the locks of all processes: each reports its own holds and waits, and the store knows the rest. */
export class Observer {
  constructor(
    private readonly store: LockStore,
    private readonly ownReport: (request: ReportRequest) => ProcessReport,
  ) {
    if (store.peers) store.peers.onReportRequest = ownReport;
  }

  /** @throws LockConfigurationError, LockStoreUnavailableError */
  async query(query: LockQuery = {}): Promise<LockOverview> {
    const { request, timeout, orphans } = checked(query);
    let collected = await this.collect(request, timeout);
    const found = findCycles(collected.reports);
    let cycles: LockOverview['cycles'] = [];
    if (found.length > 0) {
      collected = await this.collect(request, timeout);
      cycles = seenTwice(found, findCycles(collected.reports));
    }
    const { key } = request;
    const kept = orphans ? await keysInStore(this.store, key) : { keys: [], problems: [] };
    const problems = [...collected.problems, ...kept.problems];
    const show = async (reports: readonly ProcessReport[]): Promise<LockOverview> => {
      const overview = { ...assemble({ ...collected, reports, problems }), cycles };
      await addFromStore(this.store, overview, key, kept.keys);
      return overview;
    };
    const overview = await show(collected.reports);
    const unlisted = await this.collectQuietly(request, holdersOfOrphans(overview));
    if (!unlisted || unlisted.reports.length === 0) return overview;
    return await show([...collected.reports, ...unlisted.reports]);
  }

  /**
   * What the store shows of `key`, with the labels that the processes of its holder and its waiters know; and the hold as the
   * process of the holder reports it.
   */
  async look(key: string): Promise<{ snapshot: LockSnapshot; hold: HoldReport | undefined }> {
    const snapshot = await this.store.inspect(requireKey(key));
    const reports = await this.reportsOn(snapshot);
    const known = reportedHold(snapshot, reports);
    return { snapshot: withLabels(snapshot, reports, known), hold: known?.hold };
  }

  /**
   * Asks the processes, because a process may hand a lock on to another of its requests before Redis learns of it.
   *
   * @throws LockHolderChangedError if a process reports a later hold of `key` than the one with `token`
   */
  async refuseHandedOn(key: string, token: number): Promise<void> {
    const reports = await this.reportsOn(await this.store.inspect(key));
    const reported = reportedKey(key);
    const holds = reports.flatMap(({ holds }) => holds).filter((hold) => hold.key === reported);
    const later = holds.find((hold) => hold.state !== 'lost' && hold.token > token);
    if (later) throw new LockHolderChangedError(key, token, later.token);
  }

  /** What the processes of its holder and waiters report of a lock; nothing where all of them are this process. */
  private async reportsOn(snapshot: LockSnapshot): Promise<readonly ProcessReport[]> {
    const { peers } = this.store;
    if (!peers) return [];
    const { key } = snapshot;
    const clients = clientsOf(snapshot).filter((client) => client !== peers.self.clientId);
    const own = this.ownReport({ key });
    const others = await this.collectQuietly({ key }, clients);
    return [own, ...(others?.reports ?? [])];
  }

  private async collect(request: ReportRequest, timeout: number): Promise<PeerReports> {
    const others = (await this.store.peers?.collectReports(request, timeout)) ?? NO_REPORTS;
    return { ...others, reports: [this.ownReport(request), ...others.reports] };
  }

  /** The reports of some clients; undefined if they cannot be collected, since the store's data are correct without them. */
  private async collectQuietly(request: ReportRequest, clients: string[]): Promise<PeerReports | undefined> {
    if (clients.length === 0) return undefined;
    try {
      return await this.store.peers?.collectReports(request, BY_NAME_TIMEOUT, clients);
    } catch {
      return undefined;
    }
  }
}

const NO_REPORTS: PeerReports = { reports: [], silent: [], problems: [] };

/** A hold, and the process that reports it. */
interface ReportedHold {
  readonly process: ProcessReport;
  readonly hold: HoldReport;
}

/** `snapshot` with `host/pid/label` wherever a process reports the label of a hold or a wait that the store knows by an id. */
function withLabels(
  snapshot: LockSnapshot,
  reports: readonly ProcessReport[],
  known: ReportedHold | undefined,
): LockSnapshot {
  const { holder, waiters } = snapshot;
  const waits = new Map<string, string>();
  for (const process of reports) {
    for (const { id, label } of process.waits) {
      if (id !== undefined) waits.set(id, who(process, label));
    }
  }
  const named = holder && known && { ...holder, who: who(known.process, known.hold.label) };
  return {
    ...snapshot,
    ...(named && { holder: named, holders: [named] }),
    waiters: waiters.map((waiter) => ({ ...waiter, who: waits.get(waiter.id ?? '') ?? waiter.who })),
  };
}

/** What the process of the holder reports of its hold. */
function reportedHold(
  { key, holder }: LockSnapshot,
  reports: readonly ProcessReport[],
): ReportedHold | undefined {
  // Of a shared lock, the store knows the labels.
  if (holder?.share) return undefined;
  const reported = reportedKey(key);
  const process = reports.find(({ clientId }) => clientId === holder?.client);
  const hold = process?.holds
    .filter(({ key, token }) => key === reported && (holder?.token === undefined || holder.token === token))
    .reduce<HoldReport | undefined>((latest, each) => (isLater(each, latest) ? each : latest), undefined);
  return process && hold && { process, hold };
}

function who({ host, pid }: ProcessReport, label = ''): string {
  return clientName(`${host}/${pid}`, label);
}

/**
 * The clients that hold locks and seem to be gone. The list of clients may lack those that listen on a node that has just joined the
 * Cluster, but a message to such a client arrives.
 */
function holdersOfOrphans({ locks }: LockOverview): string[] {
  const orphaned = locks.filter(({ orphan }) => orphan).flatMap(({ holders }) => holders);
  return [...new Set(orphaned.map(({ clientId }) => clientId))];
}

function clientsOf({ holders, waiters }: LockSnapshot): string[] {
  const clients = new Set<string>();
  for (const { client } of [...holders, ...waiters]) if (client !== undefined) clients.add(client);
  return [...clients];
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
