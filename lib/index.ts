// The module and what it is configured with.
export { FairLockModule } from './fair-lock.module.js';
export type { FairLockModuleOptions, FairLockOptionsFactory } from './fair-lock.options.js';
export type { RedisRole, RedisSource } from './stores/redis-connection/redis-source.js';

// What is injected.
export { FairLockService } from './fair-lock.service.js';
export { getFairLockToken, InjectFairLock } from './fair-lock.tokens.js';
export type { FairLock, ScopedLock } from './core/fair-lock.js';
export type { AcquireOptions } from './core/acquire-options.js';
export type { LeaseState } from './core/lease.js';
export type { LockHolder, LockSnapshot, LockWaiter } from './core/lock-store.js';

// What handlers and methods are decorated with.
export { FairLocked } from './fair-locked.decorator.js';
export type { FairLockedOptions, LockedKey, LockedMethodDecorator } from './fair-locked.types.js';
export {
  FairLockInterceptor,
  type FairLockInterceptorOptions,
  type RequestKey,
} from './fair-lock.interceptor.js';
export { FairLockFilter, type FairLockErrorBody } from './fair-lock.filter.js';

// What goes wrong.
export {
  FairLockError,
  type FairLockErrorCode,
  LockAbortedError,
  LockConfigurationError,
  LockDeadlockError,
  LockKeyError,
  LockLostError,
  LockNotHeldError,
  LockNotReplicatedError,
  LockQueueFullError,
  LockShuttingDownError,
  LockStoreUnavailableError,
  LockTimeoutError,
  type StoreFailure,
} from './core/errors.js';
