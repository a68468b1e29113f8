import { LockConfigurationError } from '../errors/errors.js';

/** A result whose work begins, or goes on, when its caller reads it. */
export type LazyKind = 'observable' | 'async generator' | 'generator' | 'stream';

/** What such a result is, for messages. */
export const LAZY_NAMES: { readonly [Kind in LazyKind]: string } = {
  observable: 'an Observable',
  'async generator': 'an async generator',
  generator: 'a generator',
  stream: 'a stream',
};

/** When it works, and how to read it under the lock. */
const REMEDIES: { readonly [Kind in LazyKind]: string } = {
  observable: 'works when it is subscribed. Await its value inside: `() => firstValueFrom(observable)`',
  'async generator': 'works when it is iterated. Iterate it inside, and return what you need',
  generator: 'works when it is iterated. Iterate it inside: `() => [...generator]`',
  stream:
    'is read later. Read it inside, for example with buffer() from node:stream/consumers; or, if only making it ' +
    'needs the lock, return it in an object: `() => ({ stream })`',
};

/**
 * The kind of a result that its caller reads after the lock was released; undefined for every other one. Judged by the members that it
 * has, own or inherited: a mock that fakes every property has none of them.
 */
export function lazyKind(result: unknown): LazyKind | undefined {
  if (typeof result !== 'object' || result === null) return undefined;
  if (has(result, 'subscribe', 'lift')) return 'observable';
  if (has(result, Symbol.asyncIterator)) {
    if (has(result, 'next')) return 'async generator';
    return has(result, 'pipe') || has(result, 'pipeTo') ? 'stream' : undefined;
  }
  // The helpers of iterators, as `generator.map()`, have no `throw`; the iterators of lists and maps have no `return`.
  return has(result, Symbol.iterator, 'next', 'return') ? 'generator' : undefined;
}

/**
 * Passes on a result, or the promise of one, unless it would work outside of the lock. A promise of another class is passed on as it is,
 * with its own members.
 *
 * @throws LockConfigurationError, or rejects with it
 */
export function refuseLazy<T>(result: T, where: string): T {
  if (!(result instanceof Promise) || result.constructor !== Promise) return requireDone(result, where);
  return result.then((value: unknown) => requireDone(value, where)) as T;
}

function requireDone<T>(result: T, where: string): T {
  const kind = lazyKind(result);
  if (kind === undefined) return result;
  throw new LockConfigurationError(
    `${where} returned ${LAZY_NAMES[kind]}, which ${REMEDIES[kind]}. It was rejected, because it would work without the lock.`,
  );
}

function has(object: object, ...names: readonly (string | symbol)[]): boolean {
  try {
    return names.every((name) => {
      let owner: object | null = object;
      while (owner && !Object.hasOwn(owner, name)) owner = Object.getPrototypeOf(owner) as object | null;
      return owner !== null;
    });
  } catch {
    return false; // a proxy that does not tell
  }
}
