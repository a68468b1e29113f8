import { type LockKeys, lockOrder } from '../core/options/lock-keys.js';
import { shareOf, type SharingOptions } from '../core/options/sharing.js';
import { quote } from '../core/errors/text.js';
import { type Grant } from '../core/port/lock-store.js';
import { Wait } from '../core/port/wait.js';
import { within, type WithinOptions } from './patience.js';
import { type ProbedStore } from './probed-store.js';

/** A lock that a test holds from outside of the application. */
export interface ProbeHold extends AsyncDisposable {
  /** In the order in which they were locked. */
  readonly keys: readonly string[];
  /** Gives the lock to the next in the queue; idempotent. */
  release(): Promise<void>;
}

/** @throws AssertionError if the locks are not granted in time */
export async function takeHold(
  store: ProbedStore,
  keys: LockKeys,
  options: WithinOptions & SharingOptions,
): Promise<ProbeHold> {
  const { within: limit, ...sharing } = options;
  let wait: Wait | undefined;
  const grants: Grant[] = [];
  const targets = lockOrder([keys].flat(), (key) => key, shareOf(sharing));
  const release = async (): Promise<void> => {
    for (const grant of grants.splice(0).reverse()) await grant.release();
  };
  try {
    for (const { key, share } of targets) {
      const request = { key, share, waitTime: Infinity, maxQueue: Infinity, label: 'FairLockProbe.hold' };
      wait = new Wait(request);
      const granted = store.acquire(wait);
      const describe = () => `hold() was not granted the lock ${quote(key)}`;
      grants.push(await within(granted, describe, { within: limit }));
    }
  } catch (error) {
    wait?.abort();
    await release();
    throw error;
  }
  return { keys: targets.map(({ key }) => key), release, [Symbol.asyncDispose]: release };
}
