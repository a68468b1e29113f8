/** A lock that a test holds from outside of the application. */
export interface ProbeHold extends AsyncDisposable {
  /** In the order in which they were locked. */
  readonly keys: readonly string[];
  /** Gives the lock to the next in line; idempotent. */
  release(): Promise<void>;
}
