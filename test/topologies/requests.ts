import type { FairLock } from '../../lib/core/holds/fair-lock.js';
import type { InProcessClient } from '../support/in-process-client.js';
import { deferred, SOON, within } from '../support/waiting.js';

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

/** In line, when this resolves; in an object, or awaiting would wait for the lock. */
export async function inLine(client: InProcessClient, key: string): Promise<{ granted: Promise<FairLock> }> {
  const queued = deferred<number>();
  const granted = client.service.acquire(key, { onQueued: queued.resolve });
  granted.catch(() => undefined); // some are refused before the test looks
  await within(queued.promise, SOON, 'the place in line');
  return { granted };
}
