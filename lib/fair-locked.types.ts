/**
 * What the compiler checks of `@FairLocked`: the key against the method's parameters, the kind of the method, and what
 * takes its place when the wait time is over. Nothing of this exists at run time.
 */

import { type AcquireOptions } from './core/acquire-options.js';
import { type TemplateProblem } from './key-template.types.js';

/** Any method. */
export type Method = (...args: never[]) => unknown;

/** What a lock's key is made from: a template, several of them, or a function of the method's arguments. */
export type LockedKey = string | readonly string[] | ((...args: never[]) => string | readonly string[]);

/** How a decorated method locks. Absent options take those of the module. */
export interface FairLockedOptions extends Pick<
  AcquireOptions,
  'waitTime' | 'leaseTime' | 'maxQueue' | 'maxHold' | 'onLost' | 'reentrant'
> {
  /**
   * What happens instead of a LockTimeoutError when the lock was not to be had within `waitTime`. `'skip'`: nothing,
   * and the result is undefined (a stream ends without a value). A function takes the place of the method: it is
   * called with the same `this` and arguments, without the lock.
   */
  onTimeout?: 'skip' | Method | undefined;
  /** Which registration of the module locks: `FairLockModule.forRoot({ name })`. */
  name?: string | undefined;
  /**
   * What the method returns, demanded where it is not a promise: `'observable'` is locked from subscription to
   * completion, error or unsubscription, `'iterable'` (an async generator) for the iteration.
   */
  returns?: 'promise' | 'observable' | 'iterable' | undefined;
}

/** A decorator for the methods that `Key` and `Options` fit. */
export type LockedMethodDecorator<Key, Options> = <M extends Method>(
  target: object,
  property: string | symbol,
  method: TypedPropertyDescriptor<M> & Checked<Key, Options, M>,
) => void;

type Checked<Key, Options, M extends Method> = Refused<KeyProblem<Key, M> | KindProblem<Options, M>> &
  KeyFunctionFits<Key> &
  FallbackFits<Options>;

/** A property that no method has, named like the problem: so the sentence stands in the compiler's message. */
type Refused<Problem extends string> = [Problem] extends [never] ? unknown : { [Sentence in Problem]: never };

type ArgumentsOf<M extends Method> = M extends (...args: infer Args) => unknown ? Args : never;

type KeyProblem<Key, M extends Method> = Key extends string
  ? TemplateProblem<Key, ArgumentsOf<M>>
  : Key extends readonly string[]
    ? TemplateProblem<Key[number], ArgumentsOf<M>>
    : never;

/**
 * Whether a function could stand where the method stands. Asked through a setter, whose parameter is contravariant:
 * unlike a conditional type this knows the constraints of the type parameters of a generic class.
 */
interface CouldReplace<F extends Method> {
  set?: (method: F) => void;
}

type KeyFunctionFits<Key> = Key extends (...args: infer Args) => unknown
  ? CouldReplace<(...args: Args) => never>
  : unknown;

type FallbackFits<Options> = Options extends { onTimeout: (...args: infer Args) => infer Result }
  ? CouldReplace<(...args: Args) => ReturnsOf<Options> extends 'promise' ? Promise<Awaited<Result>> : Result>
  : unknown;

type ReturnsOf<Options> = Options extends { returns: infer Returns extends string } ? Returns : 'promise';

interface AnyObservable {
  subscribe: (...args: never[]) => unknown;
  pipe: (...args: never[]) => unknown;
}

interface AnyAsyncIterable {
  [Symbol.asyncIterator]: () => unknown;
}

type KindProblem<Options, M extends Method> = M extends (...args: never[]) => infer Result
  ? {
      promise: PromiseProblem<Result, Options>;
      observable: [Result] extends [AnyObservable] ? never : `returns: 'observable' is for a method that returns an Observable`;
      iterable: [Result] extends [AnyAsyncIterable]
        ? never
        : `returns: 'iterable' is for a method that returns an AsyncGenerator or AsyncIterable`;
    }[ReturnsOf<Options> & ('promise' | 'observable' | 'iterable')]
  : never;

type PromiseProblem<Result, Options> = [Result] extends [Promise<unknown>]
  ? Options extends { onTimeout: 'skip' }
    ? Promise<undefined> extends Result
      ? never
      : `onTimeout: 'skip' is for a method that may return undefined`
    : never
  : [Result] extends [AnyObservable]
    ? `a method that returns an Observable needs { returns: 'observable' }`
    : [Result] extends [AnyAsyncIterable]
      ? `a method that returns an async generator needs { returns: 'iterable' }`
      : `a locked method returns a promise, as it may have to wait; this one is synchronous`;
