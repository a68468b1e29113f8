import type { ClientIdentity, ProcessReport } from './lock-overview.js';

/** What one client asks the others. */
export interface ReportRequest {
  /** Only holds and waits of this key. */
  readonly key?: string | undefined;
}

/** What came back. */
export interface PeerAnswers {
  readonly reports: readonly ProcessReport[];
  /** Clients that listen, but did not answer in time. */
  readonly silent: readonly SilentClient[];
  /** A sentence for each answer that could not be read. */
  readonly problems: readonly string[];
}

/** A client that did not answer. Host and process are known if it answered an earlier question. */
export interface SilentClient {
  readonly clientId: string;
  readonly host?: string;
  readonly pid?: number;
}

/** The other clients of the same locks, where a store can reach them. */
export interface Peers {
  /** Which client this is. */
  readonly self: ClientIdentity;

  /** What this client answers when another asks. The engine sets it; it must not throw. */
  onAsked: ((question: ReportRequest) => ProcessReport) | undefined;

  /**
   * Asks other clients. Resolves when all have answered, at the latest `timeout` ms after they were asked.
   *
   * @param clients only these; default: all that listen
   * @throws LockStoreUnavailableError when the store cannot be reached
   */
  ask(question: ReportRequest, timeout: number, clients?: readonly string[]): Promise<PeerAnswers>;
}
