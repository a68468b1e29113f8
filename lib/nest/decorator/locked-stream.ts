import { type AcquireOptions } from '../../core/options/acquire-options.js';
import { type LockKeys } from '../../core/options/lock-keys.js';
import { LockConfigurationError, LockShuttingDownError } from '../../core/errors/errors.js';
import { type FairLock } from '../../core/holds/fair-lock.js';
import { LockHandle } from '../../core/holds/lock-handle.js';
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
  const lock = (await locks.acquire(keys, { ...options, signal: leaving })) as FairLock | undefined;
  if (typeof lock?.run !== 'function') {
    throw new LockConfigurationError(
      'acquire() of the injected service resolved without a lock, as automatic mocks do. In a test, import FairLockTestingModule.forRoot() of ' +
        'nestjs-fair-lock/testing.',
    );
  }
  return { lock, onLost: options.onLost ?? locks.onLost };
}

/** Runs a step of a stream inside its hold. With `onLost: 'signal'` it goes on after a loss, where `run` refuses. */
export function inside<T>(lock: StreamHold['lock'], code: () => T): T {
  return lock instanceof LockHandle ? lock.enter(code) : lock.run(code);
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
