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
  /** How many clients listen but did not respond in time. */
  readonly missing: number;
  /** A sentence for each reason why responses may be missing. */
  readonly problems: readonly string[];
}

/** Which of some clients listen. */
export interface Listening {
  readonly heard: ReadonlySet<string>;
  /** Whether every other client of them is gone; false: some may listen where they are not counted. */
  readonly isComplete: boolean;
}

/** The other clients of the same locks, where a store can reach them. Questions and responses are text that the store only carries. */
export interface Peers {
  /** Which client this is. */
  readonly self: ClientIdentity;

  /** Responds to the question of another client, or leaves it unanswered. The engine sets it; it must not throw. */
  onQuestion: ((question: string) => string | undefined) | undefined;

  /**
   * Asks all clients of the same locks. Resolves when all have responded, at the latest `timeout` ms after the question was sent.
   *
   * @throws LockStoreUnavailableError when the store cannot be reached
   */
  askAll(question: string, timeout: number): Promise<PeerAnswers>;

  /**
   * Which of the clients listen, whether or not they respond.
   *
   * @throws LockStoreUnavailableError when the store cannot be reached
   */
  listening(clients: readonly string[]): Promise<Listening>;
}
