import { type EngineDefaults } from '../core/options/acquire-options.js';
import { withPage } from '../core/errors/pages.js';
import { type LockStore } from '../core/port/lock-store.js';
import { type ResolvedFairLockOptions } from './options.js';
import { MemoryLockStore } from '../stores/memory/memory-lock-store.js';
import { RedisLockStore } from '../stores/redis/redis-lock-store.js';
import { RedissonLockStore } from '../stores/redisson/redisson-lock-store.js';

/**
 * Makes the store of one registration.
 *
 * @param onWarning called with warnings for the operator; they never contain credentials
 */
export interface StoreFactory {
  (options: ResolvedFairLockOptions, onWarning: (message: string) => void): LockStore;
  /** What the engine of a test does differently, whatever the options of the application say. */
  readonly engine?: Partial<EngineDefaults>;
}

/** The one place that chooses a store. */
export const createStore: StoreFactory = (options, onWarning) => {
  switch (options.store) {
    case 'memory':
      if (process.env['NODE_ENV'] === 'production') warnOfMemory();
      return new MemoryLockStore(options.watchdogTimeout);
    case 'redis':
      return new RedisLockStore({
        ...options,
        lease: options.watchdogTimeout,
        replicas: options.replicas
          ? { min: options.replicas.min, timeout: options.replicas.timeout ?? options.commandTimeout }
          : undefined,
        maxLease: options.strict ? options.maxLease : undefined,
        onWarning,
      });
    case 'redisson':
      return new RedissonLockStore({ ...options, onWarning });
  }
};

/** By Node and not by the logger: Node has a switch for each of its warnings. */
function warnOfMemory(): void {
  process.emitWarning(
    withPage(
      "store: 'memory' with NODE_ENV=production: the locks exclude the calls of this process only, and none of another instance. Use " +
        "store: 'redis'. If there is only one process, start Node with --disable-warning=FAIRLOCK_MEMORY.",
      'troubleshooting#warnings-at-the-start',
    ),
    { type: 'FairLock', code: 'FAIRLOCK_MEMORY' },
  );
}
