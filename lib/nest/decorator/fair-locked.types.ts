/**
 * The compile-time checks of `@FairLocked`: the key against the method's parameters, the kind of the method, and the replacement
 * that runs when `waitTime` has elapsed. None of this exists at run time.
 */

import { type Observable } from 'rxjs';
import { type CallOptions, type OptionOfService } from '../../core/options/acquire-options.js';
import { type LockKeys } from '../../core/options/lock-keys.js';
import { type Sharing } from '../../core/options/sharing.js';
import { type Mistake, type TemplateProblem, type TextProblem } from './key-template.types.js';

/** Any method. */
export type Method = (...args: never[]) => unknown;

/** With whom a call of a method can hold a lock at the same time. Each number can be a function of the arguments of the method. */
export type MethodSharing = Sharing<number | ((...args: never[]) => number)>;

/** One of several key templates, with sharing options that replace those of the decorator. */
export type SharedKeyTemplate = MethodSharing & { readonly key: string };

/** The source of a lock's key: a template, several templates, or a function of the method's arguments. */
export type LockedKey = string | readonly (string | SharedKeyTemplate)[] | ((...args: never[]) => LockKeys);

/** How a decorated method locks. Absent options default to the module's. */
export type FairLockedOptions = Omit<CallOptions, OptionOfService> & MethodSharing & OptionsOfDecorator;

/** The options that only the decorator takes. */
export interface OptionsOfDecorator {
  /**
   * What happens instead of a LockTimeoutError if the lock was not granted within `waitTime`. `'skip'`: nothing, and the result is
   * undefined (a stream ends without a value); a method that does not handle a request also skips when the application closes. On the processor of a
   * queue, or a message handler, the job or message then counts as done. A
   * function replaces the method: it is called with the same `this` and arguments, without the lock.
   */
  onTimeout?: 'skip' | Method | undefined;
  /** Which registration of the module locks: `FairLockModule.forRoot({ name })`. `undefined` is rejected. */
  name?: string;
  /**
   * What the method returns; required if that is not a promise. `'observable'` is locked from subscription to completion, error or
   * unsubscription, `'iterable'` (an async generator) for the iteration.
   */
  returns?: 'promise' | 'observable' | 'iterable' | undefined;
}

/**
 * A decorator for the methods that `Key` and `Options` fit. It "returns" the sentences that say what is wrong, which the compiler
 * rejects for a decorator and prints; `void` if nothing is. A sentence that depends on a type parameter of the class is judged by
 * the constraint of that parameter, because the compiler judges the result of a function so, but not its parameters.
 *
 * `KeyArgs` and `FallbackArgs` are inferred as the parameters of the method if the key function and the fallback accept those, else
 * as the parameters that they accept. The `M` beside them lets the method pass in both cases, so that the sentence is printed.
 */
export interface LockedMethodDecorator<Key, Options> {
  /** For `applyDecorators`, which hides the method: the text of the key is checked there, the rest at run time. */
  (this: Composed, target: object, property: string | symbol, method: PropertyDescriptor): void;

  <M extends Method, KeyArgs extends AcceptedBy<Key>, FallbackArgs extends AcceptedBy<FallbackOf<Options>>>(
    target: object,
    property: string | symbol,
    method: TypedPropertyDescriptor<M> & {
      value?: M | (((...args: KeyArgs) => unknown) & ((...args: FallbackArgs) => unknown));
    },
  ):
    | TemplateProblem<TemplatesOf<Key>, ArgumentsOf<M>>
    | KindProblem<ReturnsOf<Options>, ResultOf<M>>
    | OnTimeoutProblem<Options, ResultOf<M>>
    | FunctionProblem<'key function', KeyArgs, ArgumentsOf<M>>
    | NumberProblem<'permits', Options | KeyInList<Key>, ArgumentsOf<M>>
    | NumberProblem<'weight', Options | KeyInList<Key>, ArgumentsOf<M>>
    | FunctionProblem<'onTimeout function', FallbackArgs, ArgumentsOf<M>>;
}

/** A `this` type that a decorator on a method never has, so that its signature matches only inside `applyDecorators`. */
interface Composed {
  readonly composed: never;
}

/** The decorator, or the mistake in the text of its key: known where the decorator is written, even if the method is not. */
export type LockedDecorator<Key, Options> = [TextProblem<TemplatesOf<Key>>] extends [never]
  ? LockedMethodDecorator<Key, Options>
  : TextProblem<TemplatesOf<Key>>;

/** The templates of a key, or of all keys in a list; `never` for a key function. */
type TemplatesOf<Key> = Key extends WithoutKey
  ? never
  : Key extends string
    ? Key
    : Key extends { key: infer Template }
      ? TemplatesOf<Template>
      : TemplatesOf<KeyInList<Key>>;

/** The members of a list of keys. */
type KeyInList<Key> = Key extends readonly (infer Each)[] ? Each : never;

/** In place of the type of a key: there is none. Without `strictNullChecks` it would pass for a string. */
export type WithoutKey = undefined;

type ArgumentsOf<M extends Method> = M extends (...args: infer Args) => unknown ? Args : never;
type ResultOf<M extends Method> = M extends (...args: never[]) => infer Result ? Result : never;
type FallbackOf<Options> = Options extends { onTimeout: infer Fallback } ? Fallback : 'skip';
type ReturnsOf<Options> = Options extends { returns: infer Returns } ? Returns : 'promise';

/** The arguments that a function can be called with, if it is a function; it may take fewer than it gets. */
type AcceptedBy<F> = F extends (...args: infer Args) => unknown
  ? number extends Args['length']
    ? Args
    : [...Args, ...unknown[]]
  : unknown[];

/** Judges each function for a number of permits for itself. */
type NumberProblem<Name extends 'permits' | 'weight', Given, Args> = Given extends {
  [Key in Name]: infer Code extends Method;
}
  ? FunctionProblem<`${Name} function`, AcceptedBy<Code>, Args>
  : void;

type FunctionProblem<Name extends string, Accepted, Args> = Args extends Accepted
  ? void
  : HasNever<Accepted> extends true
    ? Mistake<`the parameters of the ${Name} need types, as in (id: string) => ...`>
    : Mistake<`the ${Name} does not accept the arguments of the method`>;

/** Whether a parameter was written without a type, so that the compiler took it for `never`. */
type HasNever<Accepted> = Accepted extends readonly [infer First, ...infer Others]
  ? [First] extends [never]
    ? true
    : HasNever<Others>
  : false;

type KindProblem<Returns, Result> = Returns extends 'observable'
  ? ObservableProblem<Result>
  : Returns extends 'iterable'
    ? IterableProblem<Result>
    : PromiseProblem<Result>;

type PromiseProblem<Result> = [Result] extends [Promise<unknown>]
  ? void
  : [Result] extends [Observable<unknown>]
    ? Mistake<`a method that returns an Observable needs { returns: 'observable' }`>
    : [Result] extends [AsyncIterable<unknown>]
      ? Mistake<`a method that returns an async generator needs { returns: 'iterable' }`>
      : Mistake<`a locked method returns a promise, as it may have to wait; this one is synchronous`>;

type ObservableProblem<Result> = [Result] extends [Observable<infer Value>]
  ? Observable<Value> extends Result
    ? void
    : Mistake<`a locked method returns a plain Observable; this one promises more, such as a Subject`>
  : Mistake<`returns: 'observable' is for a method that returns an Observable`>;

type IterableProblem<Result> = [Result] extends [AsyncIterable<infer Value>]
  ? AsyncGenerator<Value, never, unknown> extends Result
    ? void
    : Mistake<`a locked method returns an AsyncGenerator or AsyncIterable; this one promises more, such as a stream`>
  : Mistake<`returns: 'iterable' is for a method that returns an AsyncGenerator or AsyncIterable`>;

type OnTimeoutProblem<Options, Result> = Options extends { onTimeout: infer OnTimeout }
  ? OnTimeout extends 'skip'
    ? ReturnsOf<Options> extends 'promise'
      ? Promise<undefined> extends Result
        ? void
        : Mistake<`onTimeout: 'skip' is for a method that may return undefined`>
      : void
    : OnTimeout extends (...args: never[]) => infer Replacement
      ? (ReturnsOf<Options> extends 'promise' ? Promise<Awaited<Replacement>> : Replacement) extends Result
        ? void
        : Mistake<`the onTimeout function returns something other than the method`>
      : void
  : void;
