/** Waiting for events, with a deadline. Nothing here sleeps and hopes. */

/**
 * For so long, ms, a test waits for what takes milliseconds: far more than a busy machine needs, and paid only by a test that fails.
 * It is no bound of the product.
 */
export const SOON = 30_000;

/** A promise and the two functions that settle it. */
export interface Deferred<T> {
  readonly promise: Promise<T>;
  resolve(value: T): void;
  reject(error: unknown): void;
}

export function deferred<T = void>(): Deferred<T> {
  let resolve!: (value: T) => void;
  let reject!: (error: unknown) => void;
  const promise = new Promise<T>((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  return { promise, resolve, reject };
}

/** What `promise` settles to; rejects if it does not within `ms`. `what` completes "Still waiting for …". */
export async function within<T>(promise: Promise<T>, ms: number, what: string): Promise<T> {
  const late = deferred<never>();
  const error = new Error(`Still waiting for ${what} after ${ms} ms.`);
  const timer = setTimeout(() => late.reject(error), ms);
  timer.unref(); // of two that race, the one that lost is not waited for when the tests are over
  try {
    return await Promise.race([promise, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Resolves when `predicate` says true, asked every few milliseconds; rejects if it does not within `ms`. */
export async function eventually(
  predicate: () => boolean | Promise<boolean>,
  ms: number,
  what: string,
): Promise<void> {
  const error = new Error(`Still waiting for ${what} after ${ms} ms.`);
  for (const end = performance.now() + ms; !(await predicate()); await pause(POLL)) {
    if (performance.now() > end) throw error;
  }
}

/** Resolves when `signal` aborts. */
export function abortsOf(signal: AbortSignal): Promise<void> {
  const aborted = deferred();
  if (signal.aborted) aborted.resolve();
  else signal.addEventListener('abort', () => aborted.resolve(), { once: true });
  return aborted.promise;
}

/** Lets `ms` pass; for the tests whose subject is that nothing happens meanwhile. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Blocks the event loop for `ms`: no timer, no I/O. */
export function block(ms: number): void {
  for (const end = performance.now() + ms; performance.now() < end;);
}

const POLL = 3;
