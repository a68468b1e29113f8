import { LockConfigurationError } from '../errors/errors.js';
import type { LockStore } from '../port/lock-store.js';
import { refuseValue } from '../options/option-domains.js';

/** How a lock is taken away from its holder. */
export interface ForceReleaseOptions {
  /**
   * The fencing token of the intended holder, as `inspect` and `query` show it. If another holder has the lock by now, nothing is
   * changed (LockHolderChangedError). Default: the present holder, without a check.
   */
  token?: number | undefined;
}

/** @throws LockConfigurationError for a token that cannot work */
export function namedToken(options: unknown, { fencing, kind }: LockStore): number | undefined {
  if (options === undefined) return undefined;
  if (typeof options !== 'object' || options === null) {
    refuseValue('What forceRelease is given', 'an object', options);
  }
  const { token } = options as { readonly token?: unknown };
  if (token === undefined) return undefined;
  if (typeof token !== 'number' || !Number.isSafeInteger(token) || token <= 0) {
    refuseValue('The token of a forced release', 'a fencing token, as inspect shows it', token);
  }
  if (fencing) return token;
  throw new LockConfigurationError(
    `The store ${kind} has no fencing tokens, so a forced release cannot name its holder by one: leave the token out.`,
  );
}
