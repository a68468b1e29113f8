import { LockAbortedError } from '../../core/errors/errors.js';
import { endingError, inside, type OpenStream, type StreamHold } from './locked-stream.js';

/**
 * An async generator that holds a lock from its first `next()` until it ends, fails, or is left (`break`, `return()`).
 * Every step of the source runs inside the hold. If the consumer leaves before the first step, the generator never asks for the lock;
 * if in the queue, it leaves the queue; if during a step, it leaves the source immediately, because the step may never end. When the end of the
 * lock ends the iteration, the consumer hears of it immediately. The release waits in each case until the source works no longer.
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
  let running: StepsInside<T> | undefined;
  const steps = iterate();
  const leave = (value?: unknown): Promise<IteratorResult<T, unknown>> => {
    leaving.abort();
    running?.leaveStep(value);
    return steps.return(value);
  };
  const locked: AsyncGenerator<T, unknown, unknown> = {
    next: (...sent: [] | [unknown]) => steps.next(...sent),
    return: leave,
    throw: (error: unknown) => {
      leaving.abort();
      running?.leaveStep();
      return steps.throw(error);
    },
    [Symbol.asyncIterator]: (): AsyncGenerator<T, unknown, unknown> => locked,
    [Symbol.asyncDispose]: async () => {
      await leave();
    },
  };
  return locked;

  /** A native generator, which queues concurrent steps, and does not run at all if it is left before its first step. */
  async function* iterate(): AsyncGenerator<T, unknown, unknown> {
    let hold: StreamHold;
    try {
      hold = await open(leaving.signal);
    } catch (error) {
      if (leaving.signal.aborted && error instanceof LockAbortedError) return undefined;
      const other = instead(error);
      if (!other) throw error;
      return yield* other;
    }
    try {
      // The consumer may have left just before the grant arrived.
      if (leaving.signal.aborted) return undefined;
      // The lock may have been lost while the process stood still.
      hold.lock.assertHeld();
      running = new StepsInside(hold, source);
      return yield* running;
    } finally {
      const released = running?.idle().then(() => hold.lock.release()) ?? hold.lock.release();
      if (!running?.cutShort) await released;
    }
  }
}

type Step<T> = Promise<IteratorResult<T, unknown>>;

/** The steps of a source, each run inside the hold, and cut short when the lock's end must end the iteration. */
class StepsInside<T> implements AsyncIterable<T, unknown, unknown> {
  private readonly source: AsyncIterator<T, unknown, unknown>;
  /** The last step. */
  private step: Step<T> | undefined;
  /** The source's `return()` that was called during the last step. */
  private left: Step<T> | undefined;
  private isUnderWay = false;
  /** Whether the consumer was told that the lock has ended, while a step may go on. */
  cutShort = false;

  constructor(
    private readonly hold: StreamHold,
    source: () => AsyncIterable<T>,
  ) {
    [this.source] = inside(hold.lock, (): [typeof this.source] => [source()[Symbol.asyncIterator]()]);
  }

  /** Resolves when the source neither takes a step nor cleans up. */
  async idle(): Promise<void> {
    await Promise.allSettled([this.step, this.left]);
  }

  [Symbol.asyncIterator](): AsyncIterator<T, unknown, unknown> {
    const { source } = this;
    const leave = source.return?.bind(source);
    const fail = source.throw?.bind(source);
    // `yield*` passes `return` and `throw` on to a source that has them.
    return {
      next: (...sent: [] | [unknown]) => this.inside(() => source.next(...sent)),
      ...(leave && { return: (value: unknown) => this.inside(() => this.takeLeft() ?? leave(value)) }),
      ...(fail && { throw: (error: unknown) => this.inside(() => fail(error)) }),
    };
  }

  private inside(take: () => Step<T>): Step<T> {
    const { lock } = this.hold;
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        const error = endingError(this.hold);
        if (!error) return;
        this.cutShort = true;
        reject(error);
        this.leave();
      };
      if (lock.signal.aborted && endingError(this.hold)) return onAbort();
      lock.signal.addEventListener('abort', onAbort);
      this.isUnderWay = true;
      this.step = inside(lock, async () => await take());
      void this.step
        // This runs before the next step can begin.
        .finally(() => {
          this.isUnderWay = false;
          lock.signal.removeEventListener('abort', onAbort);
        })
        .then(resolve, reject);
    });
  }

  /** The consumer leaves, with the value for the source's `return()`. Between steps, the generator passes that on. */
  leaveStep(value?: unknown): void {
    if (this.isUnderWay) this.leave(value);
  }

  /** Lets the source clean up, and end its step if it can. */
  private leave(value?: unknown): void {
    const { lock } = this.hold;
    this.left ??= inside(
      lock,
      async (): Step<T> => (await this.source.return?.(value)) ?? { value, done: true },
    );
    this.left.catch(() => undefined); // a consumer that was told of the loss does not see it
  }

  private takeLeft(): Step<T> | undefined {
    const { left } = this;
    this.left = undefined;
    return left;
  }
}
