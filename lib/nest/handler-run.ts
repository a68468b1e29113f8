import { type ExecutionContext } from '@nestjs/common';
import { firstValueFrom, type Observable, ReplaySubject, share, tap } from 'rxjs';
import { LockedMethod } from './locked-method.js';
import { type StreamHold } from './locked-stream.js';
import { isUntyped, kindOfMethod } from './method-kind.js';
import { isSse } from './nest-metadata.js';

/** A hold that is given back only when `end` has come, too; undefined: at once. */
export function releasedAfter(
  { lock, onLost }: StreamHold,
  end: () => Promise<unknown> | undefined,
): StreamHold {
  return {
    lock: {
      run: (code) => lock.run(code),
      signal: lock.signal,
      assertHeld: () => lock.assertHeld(),
      release: () => end()?.then(() => lock.release()) ?? lock.release(),
    },
    onLost,
  };
}

/**
 * A handler that promises its answer runs on when it is unsubscribed, as by `timeout()` or when the client of a gateway
 * disconnects: its values then flow on to the first one, and `ended` resolves there.
 */
export class HandlerRun {
  private answered: ReplaySubject<void> | undefined;

  /** When it has ended; undefined while it does not run. */
  get ended(): Promise<void> | undefined {
    return this.answered && firstValueFrom(this.answered);
  }

  /** @param values of the handler, which is called when they are subscribed */
  begin(values: Observable<unknown>): Observable<unknown> {
    const answered = (this.answered = new ReplaySubject<void>(1));
    const answer = (): void => {
      if (this.answered === answered) this.answered = undefined;
      answered.next();
    };
    return values.pipe(
      tap({ next: answer, error: answer, complete: answer }),
      share({ resetOnRefCountZero: () => answered }),
    );
  }
}

/**
 * Whether a handler promises its answer; the promise of `@Sse()` is for a stream. A handler without a written return type
 * shows nothing: most of them pass on the promise of a service.
 */
export function promisesAnswer(context: ExecutionContext): boolean {
  const handler = context.getHandler();
  if (isSse(handler)) return false;
  const target = context.getClass().prototype as object;
  const kind = LockedMethod.of(target, handler.name)?.kind ?? kindOfMethod(target, handler.name, handler);
  return kind === 'promise' || (kind === undefined && isUntyped(target, handler.name));
}
