/** Longest time between two looks of the first in line, ms. */
const LONGEST_LOOK = 3_000;

/** Every time of the store, in ms, in one place. */
export interface Timing {
  /** How long Redis keeps a grant that its client does not renew: Redisson's `lockWatchdogTimeout`. */
  readonly lease: number;
  /** The wait time from which the deadline of a waiter without a wait time is computed: Redisson's `fairLockWaitTimeout`. */
  readonly waitTimeout: number;
  /** How long a command may take. */
  readonly commandTimeout: number;
  /** How often a grant is renewed: after a third of the lease, as Redisson does. */
  readonly renewal: number;
  /**
   * How often the first in line asks for the lock without a message. This finds lost messages, and ends of leases, which no message
   * announces.
   */
  readonly look: number;
}

export function timing(lease: number, waitTimeout: number, commandTimeout: number): Timing {
  const renewal = lease / 3;
  return { lease, waitTimeout, commandTimeout, renewal, look: Math.min(renewal, LONGEST_LOOK) };
}
