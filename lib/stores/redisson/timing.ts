/** Longest time between two looks of the first in line, ms. */
const LONGEST_LOOK = 3_000;

/** Every time of the store, in ms, in one place. */
export interface Timing {
  /** How long Redis keeps a grant that its client does not renew: Redisson's `lockWatchdogTimeout`. */
  readonly lease: number;
  /** What the deadline of a waiter without a wait time is reckoned with: Redisson's `fairLockWaitTimeout`. */
  readonly waitTimeout: number;
  /** How long a command may take. */
  readonly commandTimeout: number;
  /** How often a grant is renewed: after a third of the lease, as Redisson does. */
  readonly renewal: number;
  /**
   * How often the first in line looks for the lock although no message arrived. This finds lost messages, and ends of
   * leases that nothing on the wire announces.
   */
  readonly look: number;
}

export function timing(lease: number, waitTimeout: number, commandTimeout: number): Timing {
  const renewal = lease / 3;
  return { lease, waitTimeout, commandTimeout, renewal, look: Math.min(renewal, LONGEST_LOOK) };
}
