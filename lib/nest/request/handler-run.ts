import 'reflect-metadata';
import { type NestInterceptor, type Type } from '@nestjs/common';
import { type ModulesContainer } from '@nestjs/core';
import { firstValueFrom, isObservable, type Observable, ReplaySubject, share, tap } from 'rxjs';
import { currentScope, openLocks } from '../../core/holds/lock-handle.js';
import { chainFrom } from '../decorator/locked-class.js';
import { interceptorsOf, isRouted } from '../decorator/nest-metadata.js';
import { inside, type StreamHold } from '../decorator/locked-stream.js';
import { keepIdentity } from '../decorator/wrapper-identity.js';

/** The runs of intercepted handlers, by the lock under which each runs. */
const runs = new WeakMap<object, HandlerRun>();

/**
 * The run of an intercepted handler. A promise goes on when the response is not waited for any longer, because of `timeout()` or
 * because the client of a gateway disconnects; an Observable ends when it is unsubscribed. Nest hides which of the two a handler has
 * returned, and calls a handler even if the response is given up while its pipes work. So the values are received until the handler is
 * known to have begun a stream, or until its first value.
 */
export class HandlerRun {
  private readonly answered = new ReplaySubject<void>(1);
  private begun = false;
  private isAnswered = false;
  /** Promises of the handler that have not settled. */
  private readonly pending = new Set<Promise<unknown>>();

  /** Resolves when nothing of the handler is at work; undefined where nothing is. */
  get ended(): Promise<unknown> | undefined {
    if (!this.begun || (this.isAnswered && this.pending.size === 0)) return undefined;
    return Promise.all([firstValueFrom(this.answered), ...this.pending]).then(() => this.ended);
  }

  /** @param values of the handler, which is called when they are subscribed */
  begin(values: Observable<unknown>): Observable<unknown> {
    this.begun = true;
    const answer = (): void => this.answer();
    return values.pipe(
      tap({ next: answer, error: answer, complete: answer }),
      share({ resetOnRefCountZero: () => this.answered }),
    );
  }

  /** A hold of this run, whose release also waits for the end of the handler, and for `other`. */
  holding({ lock, onLost }: StreamHold, other?: Promise<unknown>): StreamHold {
    runs.set(lock, this);
    const end = (): Promise<unknown> | undefined => {
      const { ended } = this;
      return other ? Promise.all([other, ended]) : ended;
    };
    return {
      lock: {
        run: (code) => inside(lock, code),
        signal: lock.signal,
        assertHeld: () => lock.assertHeld(),
        release: () => end()?.then(() => lock.release()) ?? lock.release(),
      },
      onLost,
    };
  }

  /** What the handler has returned. A query that begins when it is awaited is left to Nest, and ends with its value. */
  returned(result: unknown): void {
    if (isObservable(result)) return this.answer();
    if (!(result instanceof Promise)) return;
    const settled = result.then(
      (value) => isObservable(value) && this.answer(),
      () => undefined,
    );
    this.pending.add(settled);
    void settled.then(() => this.pending.delete(settled));
  }

  private answer(): void {
    this.isAnswered = true;
    this.answered.next();
  }
}

/** The functions that report to the run. */
const watched = new WeakSet<object>();

/**
 * Lets the handlers behind interceptors of this kind tell their runs what they return: those that `@UseInterceptors` names, or all if the
 * application provides one, as for `APP_INTERCEPTOR`. Must be called before Nest binds the handlers.
 */
export function watchHandlers(modules: ModulesContainer, kind: abstract new () => NestInterceptor): void {
  const isOne = (each: unknown): boolean =>
    each instanceof kind || (typeof each === 'function' && each.prototype instanceof kind);
  const all = [...modules.values()];
  const ofAll = all.some(({ providers }) => [...providers.values()].some(({ metatype }) => isOne(metatype)));
  for (const { controllers, providers } of all) {
    for (const { metatype, isNotMetatype } of [...controllers.values(), ...providers.values()]) {
      if (isNotMetatype || typeof metatype !== 'function') continue;
      const ofClass = ofAll || interceptorsOf.of(metatype).some(isOne);
      watchMethods(metatype as Type, (method) => ofClass || interceptorsOf.of(method).some(isOne));
    }
  }
}

/** Handlers have metadata, which are not those of listeners; of a class, its other methods have none. */
function watchMethods(metatype: Type, isIntercepted: (method: object) => boolean): void {
  for (const owner of chainFrom(metatype.prototype as object | undefined)) {
    for (const name of Reflect.ownKeys(owner)) {
      const method: unknown = Object.getOwnPropertyDescriptor(owner, name)?.value;
      if (name === 'constructor' || typeof method !== 'function' || watched.has(method)) continue;
      if (isRouted(method) && isIntercepted(method))
        Reflect.defineProperty(owner, name, { value: reporting(method) });
    }
  }
}

function reporting(method: object): object {
  const wrapper = function (this: unknown, ...args: unknown[]): unknown {
    const result: unknown = Reflect.apply(method as () => unknown, this, args);
    for (const lock of openLocks(currentScope())) runs.get(lock)?.returned(result);
    return result;
  };
  keepIdentity(method, wrapper);
  // Other packages look whether a method is `async`.
  Object.setPrototypeOf(wrapper, Object.getPrototypeOf(method) as object);
  watched.add(wrapper);
  return wrapper;
}
