import { LockShuttingDownError } from './core/errors.js';
import { type ScopedLock } from './core/fair-lock.js';

/** What a stream or an iteration needs of its lock. */
export type StreamLock = Pick<ScopedLock, 'run' | 'signal' | 'release'>;

/** How a stream or an iteration comes to its lock, and what becomes of it when the lock is gone. */
export interface StreamTerms {
  /** Waits for the lock; leaves the line when `leaving` aborts. */
  open(leaving: AbortSignal): Promise<StreamLock>;
  /** As in the options of the module. */
  readonly onLost: 'signal' | 'reject';
}

/**
 * The error with which a stream must end now that the signal of its lock has aborted; undefined if it may go on. Once
 * the drain time of a shutdown is over it always ends: nobody else could end a stream that has no end.
 */
export function endingError(lock: StreamLock, onLost: 'signal' | 'reject'): Error | undefined {
  const reason: unknown = lock.signal.reason;
  if (!(reason instanceof Error)) return undefined;
  return onLost === 'reject' || reason instanceof LockShuttingDownError ? reason : undefined;
}
