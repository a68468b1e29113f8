import type { ClientIdentity, LockOverview, ProcessReport } from './lock-overview.js';

/** What one client requests of the others. */
export interface ReportRequest {
  /** Only holds and waits of this key. */
  readonly key?: string | undefined;
}

/** The reports that were received. */
export interface PeerReports {
  readonly reports: readonly ProcessReport[];
  /** Host and process of a client are known if it answered an earlier request. */
  readonly silent: Readonly<LockOverview['silent']>;
  /** A sentence for each answer that could not be read. */
  readonly problems: readonly string[];
}

/** The other clients of the same locks, where a store can reach them. */
export interface Peers {
  /** Which client this is. */
  readonly self: ClientIdentity;

  /** Makes the report that another client requests. The engine sets it; it must not throw. */
  onReportRequest: ((request: ReportRequest) => ProcessReport) | undefined;

  /**
   * Requests the reports of all clients that listen. Resolves when all are received, at the latest `timeout` ms after the requests were sent.
   *
   * @param named asked as well: a client may listen at a place that is not known yet. One that does not answer is gone, not silent
   * @throws LockStoreUnavailableError when the store cannot be reached
   */
  collectReports(request: ReportRequest, timeout: number, named?: readonly string[]): Promise<PeerReports>;

  /**
   * Requests the reports of these clients only, which have 250 ms to answer.
   *
   * @throws LockStoreUnavailableError when the store cannot be reached
   */
  ask(clients: readonly string[], request: ReportRequest): Promise<PeerReports>;
}
