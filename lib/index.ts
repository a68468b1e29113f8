// The module and what it is configured with.
export { FairLockModule } from './nest/fair-lock.module.js';
export type {
  FairLockModuleAsyncOptions,
  FairLockRegistrationOptions,
} from './nest/fair-lock.module-definition.js';
export type { FairLockModuleOptions, FairLockOptionsFactory } from './nest/fair-lock.options.js';
export type { RedisRole, RedisSource } from './stores/redis-client/redis-source.js';

// What is injected.
export { FairLockService } from './core/fair-lock-service.js';
export { getFairLockToken, InjectFairLock } from './nest/fair-lock.tokens.js';
export type { FairLock, ScopedLock } from './core/fair-lock.js';
export type { ForceReleaseOptions } from './core/force-release.js';
export type { AcquireOptions } from './core/acquire-options.js';
export type { LeaseState } from './core/lease.js';
export type { LockHolder, LockSnapshot, LockWaiter, StoreHealth } from './core/lock-store.js';
export type {
  ClientIdentity,
  HoldReport,
  LockOverview,
  LockQuery,
  LockReport,
  ProcessReport,
  WaitCycle,
  WaitReport,
} from './core/lock-overview.js';

// What is published on `node:diagnostics_channel`.
export type {
  HoldDescription,
  HoldOutcome,
  LockEvent,
  WaitDescription,
  WaitOutcome,
} from './core/diagnostics.js';

// What handlers and methods are decorated with.
export { FairLocked } from './nest/fair-locked.decorator.js';
export type { FairLockedOptions, LockedKey, LockedMethodDecorator } from './nest/fair-locked.types.js';
export {
  FairLockInterceptor,
  type FairLockInterceptorOptions,
  type RequestKey,
} from './nest/fair-lock.interceptor.js';
export { FairLockFilter } from './nest/fair-lock.filter.js';

// What goes wrong.
export {
  FairLockError,
  type FairLockErrorBody,
  type FairLockErrorCode,
  LockAbortedError,
  LockConfigurationError,
  LockDeadlockError,
  LockHolderChangedError,
  LockKeyError,
  LockLostError,
  LockNotHeldError,
  LockNotReplicatedError,
  LockProtocolError,
  LockQueueFullError,
  LockShuttingDownError,
  LockStoreUnavailableError,
  LockTimeoutError,
  type StoreFailure,
} from './core/errors.js';
