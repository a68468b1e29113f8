import type { FairLock } from '../../lib/core/holds/fair-lock.js';
import type { AcquireOptions } from '../../lib/core/options/acquire-options.js';
import type { InProcessClient } from './in-process-client.js';
import { deferred, eventually, SOON, within } from './waiting.js';

/** The outcome of a request that is to fail. */
export async function refusal(request: Promise<unknown>): Promise<unknown> {
  return await within(
    request.then(
      () => 'was granted',
      (error: unknown) => error,
    ),
    SOON,
    'the refusal',
  );
}

/** Resolves when `count` requests wait for `key`. */
export async function waiting(locks: Inspects, key: string, count: number): Promise<void> {
  const isSo = async () => (await locks.inspect(key)).queueLength === count;
  await eventually(isSo, SOON, `${count} in line for ${key}`);
}

interface Inspects {
  inspect(key: string): Promise<{ readonly queueLength: number }>;
}

/** In line, when this resolves; in an object, or awaiting would wait for the lock. */
export async function inLine(
  { service }: Pick<InProcessClient, 'service'>,
  key: string,
  options: AcquireOptions = {},
): Promise<{ granted: Promise<FairLock> }> {
  const queued = deferred<number>();
  const granted = service.acquire(key, { ...options, onQueued: queued.resolve });
  granted.catch(() => undefined); // some are refused before the test looks
  await within(queued.promise, SOON, 'the place in line');
  return { granted };
}
