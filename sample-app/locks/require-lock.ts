import { type FairLock, type FairLockService, LockNotHeldError } from 'nestjs-fair-lock';

/**
 * The hold on `key` that the running flow is inside of, for code that must not run without it. Call it right before a
 * write.
 *
 * `locks.current(key)?.assertHeld()` would pass where no lock is held at all, as when someone calls the method from a
 * new place; this throws.
 *
 * @throws LockNotHeldError if the flow holds no such lock
 * @throws LockLostError if it held the lock and lost it
 */
export function requireLock(locks: FairLockService, key: string): FairLock {
  const lock = locks.current(key);
  if (!lock) throw new LockNotHeldError(key);
  lock.assertHeld();
  return lock;
}
