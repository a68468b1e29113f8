/** Every time of the store, in ms, in one place. */
export interface Timing {
  /** How long Redis honours a grant without hearing from its client: Redisson's `lockWatchdogTimeout`. */
  readonly lease: number;
  /** What the deadline of a waiter without a wait time is reckoned with: Redisson's `fairLockWaitTimeout`. */
  readonly waitTimeout: number;
  /** How long a command may take. */
  readonly commandTimeout: number;
  /** How often a grant is renewed, and how often the first in line looks after its turn if nothing is heard. */
  readonly heartbeat: number;
}

/** Redisson renews after a third of the lease. */
export function timing(lease: number, waitTimeout: number, commandTimeout: number): Timing {
  return { lease, waitTimeout, commandTimeout, heartbeat: lease / 3 };
}
