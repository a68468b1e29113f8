import { AsyncLocalStorage } from 'node:async_hooks';
import { sharedByAllCopies } from './shared-by-all-copies.js';

const requestSignals = sharedByAllCopies(
  'nestjs-fair-lock:request-signal',
  () => new AsyncLocalStorage<AbortSignal>(),
);

/**
 * Runs `code` on behalf of a request that may go away: every wait in line that it starts, however deep, ends when
 * `signal` aborts (LockAbortedError). Sections that have begun are not touched.
 */
export function runWithRequestSignal<T>(signal: AbortSignal, code: () => T): T {
  return requestSignals.run(signal, code);
}

/** The signal of the request on whose behalf this code runs. */
export function currentRequestSignal(): AbortSignal | undefined {
  return requestSignals.getStore();
}
