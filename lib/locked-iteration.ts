import { LockAbortedError } from './core/errors.js';
import { endingError, type StreamLock, type StreamTerms } from './locked-stream.js';

/**
 * An async generator that holds a lock from its first `next()` until it ends, fails, or is left (`break`, `return()`).
 * Every step of the source runs inside the hold. Left before the first step, it never asks for the lock; left while in
 * line, it leaves the line.
 *
 * @param source makes what runs under the lock; called inside the hold, when it is granted
 * @param instead makes what takes its place when the lock could not be had; without it, or when it is not for this
 *   error (undefined), the error passes through
 */
export function lockIteration<T>(
  terms: StreamTerms,
  source: () => AsyncIterable<T>,
  instead?: (error: unknown) => AsyncIterable<T> | undefined,
): AsyncGenerator<T, unknown, unknown> {
  const leaving = new AbortController();
  const steps = iterate(terms, leaving.signal, source, instead);
  const asyncDispose = Symbol.asyncDispose as symbol | undefined;
  const left = async (value?: unknown): Promise<IteratorResult<T, unknown>> => {
    leaving.abort();
    return steps.return(value);
  };
  const locked = {
    next: (...sent: [] | [unknown]) => steps.next(...sent),
    return: left,
    throw: (error: unknown) => {
      leaving.abort();
      return steps.throw(error);
    },
    [Symbol.asyncIterator]: () => locked,
    // Node 20 knows the symbol, but only later versions give it to their own generators.
    ...(asyncDispose && { [asyncDispose]: () => left().then(() => undefined) }),
  } as AsyncGenerator<T, unknown, unknown>;
  return locked;
}

/** A native generator queues concurrent steps, and does not run at all when it is left before its first one. */
async function* iterate<T>(
  terms: StreamTerms,
  leaving: AbortSignal,
  source: () => AsyncIterable<T>,
  instead: ((error: unknown) => AsyncIterable<T> | undefined) | undefined,
): AsyncGenerator<T, unknown, unknown> {
  let lock: StreamLock;
  try {
    lock = await terms.open(leaving);
  } catch (error) {
    if (leaving.aborted && error instanceof LockAbortedError) return undefined;
    const other = instead?.(error);
    if (!other) throw error;
    return yield* other;
  }
  try {
    // The grant may have come in the very moment of leaving.
    if (leaving.aborted) return undefined;
    return yield* stepsInside(lock, terms, source);
  } finally {
    await lock.release();
  }
}

/** The steps of the source, each run inside the hold, and cut short when the lock's end must end the iteration. */
function stepsInside<T>(
  lock: StreamLock,
  { onLost }: StreamTerms,
  source: () => AsyncIterable<T>,
): AsyncIterable<T, unknown, unknown> {
  const steps: AsyncIterator<T, unknown, unknown> = lock.run(() => source()[Symbol.asyncIterator]());
  type Step = Promise<IteratorResult<T, unknown>>;

  const inside = (step: () => Step): Step =>
    new Promise((resolve, reject) => {
      const onAbort = (): void => {
        const error = endingError(lock, onLost);
        if (!error) return;
        reject(error);
        // The source cleans up after itself; the iteration has its error already.
        lock.run(() => steps.return?.())?.catch(() => undefined);
      };
      if (lock.signal.aborted && endingError(lock, onLost)) return onAbort();
      lock.signal.addEventListener('abort', onAbort);
      lock
        .run(async () => await step())
        .then(resolve, reject)
        .finally(() => lock.signal.removeEventListener('abort', onAbort));
    });

  const leave = steps.return?.bind(steps);
  const fail = steps.throw?.bind(steps);
  // `yield*` passes on `return` and `throw` where they are there.
  const iterator: AsyncIterator<T, unknown, unknown> = {
    next: (...sent: [] | [unknown]) => inside(() => steps.next(...sent)),
    ...(leave && { return: (value: unknown) => inside(() => leave(value)) }),
    ...(fail && { throw: (error: unknown) => inside(() => fail(error)) }),
  };
  return { [Symbol.asyncIterator]: () => iterator };
}
