import { type AcquireOptions } from '../../core/options/acquire-options.js';
import { type LockKeys } from '../../core/options/lock-keys.js';
import { LockShuttingDownError } from '../../core/errors/errors.js';
import { type FairLock } from '../../core/holds/fair-lock.js';
import { type FairLockService } from '../../core/engine/fair-lock-service.js';

/** A lock under which a stream or an iteration runs. */
export interface StreamHold {
  readonly lock: Pick<FairLock, 'run' | 'signal' | 'assertHeld' | 'release'>;
  /** As in the options of the module; a stream with `reject` ends with the LockLostError. */
  readonly onLost: 'signal' | 'reject';
}

/** Waits for the hold of a stream; leaves the queue when `leaving` aborts. */
export type OpenStream = (leaving: AbortSignal) => Promise<StreamHold>;

export async function openStream(
  locks: FairLockService,
  keys: LockKeys,
  options: AcquireOptions,
  leaving: AbortSignal,
): Promise<StreamHold> {
  const lock = await locks.acquire(keys, { ...options, signal: leaving });
  return { lock, onLost: options.onLost ?? locks.onLost };
}

/**
 * The error with which a stream must end, now that the signal of its lock has aborted; undefined if it may go on. After the drain
 * time of a shutdown every stream ends, because an endless one would never end otherwise.
 */
export function endingError({ lock, onLost }: StreamHold): Error | undefined {
  const reason: unknown = lock.signal.reason;
  if (!(reason instanceof Error)) return undefined;
  return onLost === 'reject' || reason instanceof LockShuttingDownError ? reason : undefined;
}
