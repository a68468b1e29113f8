import { Inject, UseInterceptors } from '@nestjs/common';
import { COMMON_OPTIONS } from '../../core/options/acquire-options.js';
import { requireOptions } from '../../core/options/refusals.js';
import { LockConfigurationError } from '../../core/errors/errors.js';
import { isClass } from '../../setup/option-checks.js';
import { handlerScope } from '../client/handler-scope.js';
import { getFairLockToken } from '../fair-lock.tokens.js';
import { nameOf, nameOfPlace, refuseStandardDecorators, refuseUndefined } from './decorated-place.js';
import {
  type FairLockedOptions,
  type LockedDecorator,
  type LockedKey,
  type WithoutKey,
} from './fair-locked.types.js';
import { LockedMethod } from './locked-method.js';
import { keepIdentity } from './wrapper-identity.js';

/**
 * Runs the method while holding a lock. Calls run in the order in which they were made, over all processes.
 *
 * Works on the methods of every class that Nest makes: controllers, gateways, resolvers, message handlers, processors,
 * cron jobs, plain providers of any scope; above or below other decorators, but above `@GrpcStreamMethod()`. The lock is
 * held until the returned promise settles, the Observable ends or is unsubscribed, the async generator ends or is left.
 * The method's result and errors pass through untouched. Inside, `FairLockService.current()` is the hold, and a
 * call of another method locked by the same key does not wait for itself.
 *
 * The key: `'order:<0.id>'` takes the property `id` of argument 0, after pipes; `['account:<0>', 'account:<1>']` locks both, in one
 * global order; a function gets `this` and the arguments of the method. Without a key it is `ClassName.method`, by the class that
 * declares the method.
 *
 * @throws LockKeyError, LockConfigurationError when the class is defined, for a decorator that cannot work; all that
 *   waiting can throw (see `FairLockService`) at the call; LockKeyError at the call if an argument makes no key
 *
 * @example
 * @FairLocked('order:<0.id>')
 * async pay(order: Order): Promise<Receipt> { … }
 *
 * @FairLocked((from: string, to: string) => [`account:${from}`, `account:${to}`], { waitTime: 5_000 })
 * async transfer(from: string, to: string): Promise<void> { … }
 *
 * @Cron('0 3 * * *')
 * @FairLocked('report:nightly', { waitTime: 0, onTimeout: 'skip' })
 * async report(): Promise<void> { … }
 *
 * @Sse('orders')
 * @FairLocked('feed', { returns: 'observable' })
 * feed(): Observable<MessageEvent> { … }
 */
export function FairLocked(): LockedDecorator<WithoutKey, FairLockedOptions>;
export function FairLocked<const Key extends LockedKey>(key: Key): LockedDecorator<Key, FairLockedOptions>;
export function FairLocked<const Key extends LockedKey, const Options extends FairLockedOptions>(
  key: Key,
  options: Options,
): LockedDecorator<Key, Options>;
export function FairLocked(
  ...given: [key?: LockedKey, options?: FairLockedOptions]
): LockedDecorator<WithoutKey, FairLockedOptions> {
  const [key, options] = given;
  refuseBare(given);
  if (options !== undefined) {
    requireOptions(options, [...COMMON_OPTIONS, 'onTimeout', 'name', 'returns'], '@FairLocked');
  }
  const token = getFairLockToken(options?.name);
  const decorate = (
    target: object,
    property: string | symbol,
    descriptor: PropertyDescriptor | undefined,
  ): void => {
    const method: unknown = descriptor?.value;
    const where = nameOfPlace(target, property, descriptor, given.length > 0);
    refuseUndefined(
      given,
      `@FairLocked on ${where}`,
      'For a lock by the name of the method, write @FairLocked().',
    );
    const locked = new LockedMethod(where, target, property, method, key, options);
    const wrapped = locked.wrapper();
    keepIdentity(method as object, wrapped);
    (descriptor as PropertyDescriptor).value = wrapped;
    // With a waitTime of 0 there is no wait to end.
    if (options?.requestScope !== false && options?.waitTime !== 0)
      UseInterceptors(handlerScope(locked))(target, property, descriptor as PropertyDescriptor);
    LockedMethod.mark(target, property, locked);
    Inject(token)(target, locked.serviceProperty);
  };
  return decorate; // which of the two it is, is known where it is written
}

/** Without parentheses, `@FairLocked` receives the class or the method itself. It would not lock the method, and would replace the class with a function. */
function refuseBare(given: readonly unknown[]): void {
  const [target, property] = given as [object, string | symbol | undefined];
  refuseStandardDecorators(property);
  const isOnClass = given.length === 1 && typeof target === 'function' && isClass(target);
  if (given.length < 3 && !isOnClass) return;
  throw new LockConfigurationError(
    `@FairLocked stands without parentheses on ${nameOf(target, property)}, so it would lock nothing: write ` +
      `@FairLocked()${isOnClass ? ' above each method that needs the lock' : ''}.`,
  );
}
