// The module and what it is configured with.
export { FairLockModule } from './nest/module/fair-lock.module.js';
export type {
  FairLockModuleAsyncOptions,
  FairLockRegistrationOptions,
} from './nest/module/fair-lock.module-definition.js';
export type { FairLockModuleOptions, FairLockOptionsFactory } from './setup/options.js';
export type { RedisRole, RedisSource } from './stores/redis-client/connection/redis-source.js';

// What is injected.
export { FairLockService } from './core/engine/fair-lock-service.js';
export { getFairLockToken, InjectFairLock } from './nest/fair-lock.tokens.js';
export type { FairLock } from './core/holds/fair-lock.js';
export type { ForceReleaseOptions } from './core/engine/force-release.js';
export type { Leadership, LeadershipState, LeadOptions } from './core/engine/leadership.js';
export type { AcquireOptions } from './core/options/acquire-options.js';
export type { LeaseState } from './core/port/lease.js';
export type { LockHolder, LockSnapshot, LockWaiter, StoreHealth } from './core/port/lock-store.js';
export type {
  ClientIdentity,
  HoldReport,
  LockOverview,
  LockQuery,
  LockReport,
  ProcessReport,
  WaitCycle,
  WaitReport,
} from './core/port/lock-overview.js';

// What is published on `node:diagnostics_channel`.
export type {
  HoldDescription,
  HoldOutcome,
  LockEvent,
  WaitDescription,
  WaitOutcome,
} from './core/diagnostics/diagnostics.js';

// What handlers and methods are decorated with.
export { FairLocked } from './nest/decorator/fair-locked.decorator.js';
export type { FairLockedOptions, LockedKey, LockedDecorator } from './nest/decorator/fair-locked.types.js';
export {
  FairLockInterceptor,
  type FairLockInterceptorOptions,
  type RequestKey,
} from './nest/request/fair-lock.interceptor.js';
export { FairLockFilter } from './nest/request/fair-lock.filter.js';

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
} from './core/errors/errors.js';
