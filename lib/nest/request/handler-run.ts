import { type ExecutionContext } from '@nestjs/common';
import { firstValueFrom, type Observable, ReplaySubject, share, tap } from 'rxjs';
import { LockedMethod } from '../decorator/locked-method.js';
import { type StreamHold } from '../decorator/locked-stream.js';
import { isUntyped, kindOfMethod } from '../decorator/method-kind.js';
import { isSse } from '../decorator/nest-metadata.js';

/** A hold whose release also waits for `end`; undefined: the release does not wait. */
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
 * The run of a handler that returns a promise. It goes on when it is unsubscribed, by `timeout()` or because the client of a gateway
 * disconnects. So its values are still received up to the first one, at which `ended` resolves.
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
 * Whether a handler returns a promise of its answer; with `@Sse()` the promise is for a stream. A handler without a written return
 * type counts as one, because most of them pass on the promise of a service.
 */
export function promisesAnswer(context: ExecutionContext): boolean {
  const handler = context.getHandler();
  if (isSse(handler)) return false;
  const target = context.getClass().prototype as object;
  const property = propertyOf(target, handler);
  const kind = LockedMethod.of(target, property)?.kind ?? kindOfMethod(target, property, handler);
  return kind === 'promise' || (kind === undefined && isUntyped(target, property));
}

/** Not always the name of the function: a decorator may have replaced it. */
function propertyOf(target: object, handler: { readonly name: string }): string | symbol {
  if (methodOf(target, handler.name) === handler) return handler.name;
  for (let owner: object | null = target; owner; owner = Object.getPrototypeOf(owner) as object | null) {
    for (const property of Reflect.ownKeys(owner)) if (methodOf(owner, property) === handler) return property;
  }
  return handler.name;
}

function methodOf(owner: object, property: string | symbol): unknown {
  return Object.getOwnPropertyDescriptor(owner, property)?.value;
}
