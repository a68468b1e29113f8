import { LockConfigurationError } from '../../core/errors/errors.js';
import { quote } from '../../core/errors/text.js';
import type { RedisSource } from '../redis-client/connection/redis-source.js';

export interface RedisLockStoreOptions {
  readonly redis: RedisSource;
  /** Before every key and channel; `fairlock` makes `fairlock:{name}`. No braces. */
  readonly keyPrefix: string;
  /** Milliseconds for which Redis keeps a grant that its holder does not renew. */
  readonly lease: number;
  /** Milliseconds for which a waiting client may be silent. */
  readonly livenessWindow: number;
  /** Milliseconds within which a command must be answered. */
  readonly commandTimeout: number;
  /** How many replicas must have a grant or a renewal before it counts, and how long they may take (ms). */
  readonly replicas?: { readonly min: number; readonly timeout: number } | undefined;
  /**
   * Strict mode: the longest lease, ms. A server that has just become primary grants nothing until that time has passed.
   * Undefined: off. All clients of a key prefix must agree.
   */
  readonly maxLease?: number | undefined;
  /** How many requests have their turns under one hold at most (rule 9). Default: 64. With 1 each has a separate hold; tests try both. */
  readonly rowLength?: number;
  /** Called with warnings for the operator; they never contain credentials. */
  readonly onWarning: (message: string) => void;
}

/**
 * @param clientPrefix the user's ioredis key prefix
 * @throws LockConfigurationError for what cannot work with this client
 */
export function checkOptions(options: RedisLockStoreOptions, clientPrefix: string, isCluster: boolean): void {
  const prefix = clientPrefix + options.keyPrefix;
  if (/[{}]/.test(prefix)) {
    throw new LockConfigurationError(
      `The key prefix ${JSON.stringify(prefix)} contains a brace. ` +
        'Braces mark the part of a key that a Redis Cluster hashes, so they would split the keys of a lock: remove them.',
    );
  }
  if (options.maxLease !== undefined && isCluster) {
    throw new LockConfigurationError(
      'The option strict does not work on a Redis Cluster: each of its masters can be replaced, and a script can read ' +
        'the keys of one slot only. Remove the option, or use a primary with replicas (Sentinel).',
    );
  }
}

/** Strict mode: no lease outlives the wait of a new primary. */
export function leaseTooLong(key: string, leaseTime: number, maxLease: number): LockConfigurationError {
  return new LockConfigurationError(
    `A leaseTime of ${leaseTime} ms for the lock ${quote(key)} is longer than maxLease (${maxLease} ms): a new primary ` +
      'assumes that every lease has expired by then. Shorten it, or raise maxLease for all clients.',
  );
}
