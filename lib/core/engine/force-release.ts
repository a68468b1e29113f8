import { LockConfigurationError } from '../errors/errors.js';
import type { LockStore, NamedGrant } from '../port/lock-store.js';
import { refuseValue, requireOptions } from '../options/refusals.js';

/** How a lock is taken away from its holder. */
export interface ForceReleaseOptions {
  /**
   * The fencing token of the intended holder, as `inspect` and `query` show it. If another holder has the lock by now, nothing is
   * changed (LockHolderChangedError). Default: all present holders, without a check.
   */
  token?: number | undefined;
  /**
   * The id of a holder that has no token, as `inspect` shows it: of a shared lock, or of the store `redisson`. Only that one loses the
   * lock. If it no longer holds the lock, nothing is changed (LockHolderChangedError). Not with `token`.
   */
  holder?: string | undefined;
}

/** @throws LockConfigurationError for an option that does not exist, or a token or an id that cannot work */
export function namedGrant(options: unknown = {}, { fencing, kind }: LockStore): NamedGrant {
  requireOptions(options, ['token', 'holder'], 'forceRelease');
  const { token, holder } = options;
  if (holder !== undefined && (typeof holder !== 'string' || token !== undefined)) {
    refuseValue(
      'The holder of a forced release',
      'the id of a holder, as inspect shows it, without a token',
      holder,
    );
  }
  if (holder !== undefined) return { holder };
  if (token === undefined) return {};
  if (typeof token !== 'number' || !Number.isSafeInteger(token) || token <= 0) {
    refuseValue('The token of a forced release', 'a fencing token, as inspect shows it', token);
  }
  if (fencing) return { token };
  throw new LockConfigurationError(
    `The store ${kind} has no fencing tokens, so a forced release cannot name its holder by one: pass { holder } with the id that inspect shows.`,
  );
}
