/** Names for applications with Nest and without: the entries `nestjs-fair-lock` and `nestjs-fair-lock/standalone` share them. */

// Options.
export type { FairLockModuleOptions } from './options.js';
export type { RedisRole, RedisSource } from '../stores/redis-client/connection/redis-source.js';

// The service and its results.
export { FairLockService } from '../core/engine/fair-lock-service.js';
export type { FairLock } from '../core/holds/fair-lock.js';
export type { ForceReleaseOptions } from '../core/engine/force-release.js';
export type { Leadership, LeadershipState, LeadOptions } from '../core/engine/leadership.js';
export type { AcquireOptions, CallOptions } from '../core/options/acquire-options.js';
export type { LockKeys, SharedKey } from '../core/options/lock-keys.js';
export type {
  Share,
  Sharing,
  SharingByMode,
  SharingByPermits,
  SharingOptions,
} from '../core/options/sharing.js';
export type { LeaseState } from '../core/port/lease.js';
export type { ClientIdentity } from '../core/port/peers.js';
export type { LockHolder, LockSnapshot, LockWaiter, StoreHealth } from '../core/port/lock-store.js';
export type {
  HoldReport,
  LockOverview,
  LockQuery,
  LockReport,
  ProcessReport,
  WaitReport,
} from '../core/query/lock-overview.js';

// Messages on `node:diagnostics_channel`.
export type {
  HoldDescription,
  HoldOutcome,
  LockEvent,
  WaitDescription,
  WaitOutcome,
} from '../core/diagnostics/diagnostics.js';

// Errors.
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
} from '../core/errors/errors.js';
