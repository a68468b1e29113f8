import { LockAbortedError } from '../../core/errors/errors.js';
import { endingError, type OpenStream, type StreamHold } from './locked-stream.js';

/**
 * An async generator that holds a lock from its first `next()` until it ends, fails, or is left (`break`, `return()`).
 * Every step of the source runs inside the hold. If the consumer leaves before the first step, the generator never asks for the lock;
 * if in line, it leaves the line; if during a step, it leaves the source immediately, because the step may never end.
 *
 * @param source makes the generator that runs under the lock; called inside the hold
 * @param instead makes the replacement when the lock was not granted; undefined: the error passes through
 */
export function lockIteration<T>(
  open: OpenStream,
  source: () => AsyncIterable<T>,
  instead: (error: unknown) => AsyncIterable<T, unknown, unknown> | undefined = () => undefined,
): AsyncGenerator<T, unknown, unknown> {
  const leaving = new AbortController();
  const step: StepUnderWay = { leave: undefined };
  const steps = iterate(open, leaving.signal, step, source, instead);
  const leave = (value?: unknown): Promise<IteratorResult<T, unknown>> => {
    leaving.abort();
    step.leave?.();
    return steps.return(value);
  };
  const locked: AsyncGenerator<T, unknown, unknown> = {
    next: (...sent: [] | [unknown]) => steps.next(...sent),
    return: leave,
    throw: (error: unknown) => {
      leaving.abort();
      step.leave?.();
      return steps.throw(error);
    },
    [Symbol.asyncIterator]: (): AsyncGenerator<T, unknown, unknown> => locked,
    [Symbol.asyncDispose]: async () => {
      await leave();
    },
  };
  return locked;
}

/** The function that leaves the source during a step; undefined between steps. */
interface StepUnderWay {
  leave: (() => void) | undefined;
}

/** Written as a native generator, which queues concurrent steps, and does not run at all if it is left before its first step. */
async function* iterate<T>(
  open: OpenStream,
  leaving: AbortSignal,
  step: StepUnderWay,
  source: () => AsyncIterable<T>,
  instead: (error: unknown) => AsyncIterable<T, unknown, unknown> | undefined,
): AsyncGenerator<T, unknown, unknown> {
  let hold: StreamHold;
  try {
    hold = await open(leaving);
  } catch (error) {
    if (leaving.aborted && error instanceof LockAbortedError) return undefined;
    const other = instead(error);
    if (!other) throw error;
    return yield* other;
  }
  try {
    // The consumer may have left just before the grant arrived.
    if (leaving.aborted) return undefined;
    // The lock may have been lost while the process stood still.
    hold.lock.assertHeld();
    return yield* stepsInside(hold, step, source);
  } finally {
    await hold.lock.release();
  }
}

/** The steps of the source, each run inside the hold, and cut short when the lock's end must end the iteration. */
function stepsInside<T>(
  hold: StreamHold,
  underWay: StepUnderWay,
  source: () => AsyncIterable<T>,
): AsyncIterable<T, unknown, unknown> {
  type Step = Promise<IteratorResult<T, unknown>>;
  const { lock } = hold;
  const steps: AsyncIterator<T, unknown, unknown> = lock.run(() => source()[Symbol.asyncIterator]());
  const leave = steps.return?.bind(steps);
  const fail = steps.throw?.bind(steps);

  /** Lets the source clean up, and end its step if it can. The consumer does not see its further results or errors. */
  const leaveSource = (): void => {
    lock.run(async () => await leave?.()).catch(() => undefined);
  };
  const inside = (step: () => Step): Step =>
    new Promise((resolve, reject) => {
      const onAbort = (): void => {
        const error = endingError(hold);
        if (!error) return;
        reject(error);
        leaveSource();
      };
      if (lock.signal.aborted && endingError(hold)) return onAbort();
      lock.signal.addEventListener('abort', onAbort);
      underWay.leave = leaveSource;
      void lock
        .run(async () => await step())
        // This runs before the next step can begin.
        .finally(() => {
          underWay.leave = undefined;
          lock.signal.removeEventListener('abort', onAbort);
        })
        .then(resolve, reject);
    });

  // `yield*` passes `return` and `throw` on to a source that has them.
  const iterator: AsyncIterator<T, unknown, unknown> = {
    next: (...sent: [] | [unknown]) => inside(() => steps.next(...sent)),
    ...(leave && { return: (value: unknown) => inside(() => leave(value)) }),
    ...(fail && { throw: (error: unknown) => inside(() => fail(error)) }),
  };
  return { [Symbol.asyncIterator]: () => iterator };
}
