/** The process that a hold or a wait belongs to. One process has one client for each registration of the module. */
export interface ClientIdentity {
  clientId: string;
  host: string;
  pid: number;
}

/** What other clients answered to a question. */
export interface PeerAnswers {
  /** Each response with the client that sent it. */
  readonly answers: readonly (readonly [client: string, answer: string])[];
  /** The clients that listen but did not respond in time. */
  readonly silent: readonly string[];
  /** A sentence for each reason why responses may be missing. */
  readonly problems: readonly string[];
}

/** The other clients of the same locks, where a store can reach them. Questions and responses are text that the store only carries. */
export interface Peers {
  /** Which client this is. */
  readonly self: ClientIdentity;

  /** Responds to the question of another client, or leaves it unanswered. The engine sets it; it must not throw. */
  onQuestion: ((question: string) => string | undefined) | undefined;

  /**
   * Asks all clients that listen. Resolves when all have responded, at the latest `timeout` ms after the questions were sent.
   *
   * @param named asked as well: a client may listen at a place that is not known yet. One that does not respond is gone, not silent
   * @throws LockStoreUnavailableError when the store cannot be reached
   */
  askAll(question: string, timeout: number, named: readonly string[]): Promise<PeerAnswers>;
}
