import { LockConfigurationError, LockKeyError } from '../../core/errors/errors.js';

/**
 * The name of a decorated method, `OrdersService.pay`, which is also its key if the decorator has none.
 *
 * @throws LockConfigurationError where `@FairLocked` cannot work
 */
export function nameOfPlace(
  target: object,
  property: string | symbol | undefined,
  descriptor: PropertyDescriptor | undefined,
  hasKey: boolean,
): string {
  refuseStandardDecorators(property);
  const name = nameOf(target, property);
  const isLockable = typeof target !== 'function' && typeof descriptor?.value === 'function';
  if (!isLockable) {
    throw new LockConfigurationError(`@FairLocked on ${name}: ${whyNoMethod(target, property, descriptor)}.`);
  }
  if (!hasKey && target.constructor.name === '') {
    throw new LockConfigurationError(
      `@FairLocked on the method ${String(property)} of a class without a name: give the lock a key.`,
    );
  }
  return name;
}

/** A member as messages name it, or its class if the decorator is on that. */
export function nameOf(target: object, property: string | symbol | undefined): string {
  const className = (typeof target === 'function' ? target : target.constructor).name;
  return property === undefined ? className : `${className}.${String(property)}`;
}

/** Nest injects the lock into instances, and only a method is there when the class is defined. */
function whyNoMethod(
  target: object,
  property: string | symbol | undefined,
  descriptor: PropertyDescriptor | undefined,
): string {
  if (property === undefined)
    return 'a class cannot be locked as a whole: decorate its methods, or lock the handlers of a controller with FairLockInterceptor';
  const method = `write a method, \`async ${String(property)}() { … }\``;
  if (typeof target === 'function')
    return `a static member has no instance into which Nest could inject the lock: drop \`static\`, and call it on the instance`;
  if (descriptor?.get ?? descriptor?.set) return `an accessor cannot wait for a lock: ${method}`;
  return `a property has no function yet when its class is defined, so there is nothing to lock: ${method}`;
}

/** What makes a value undefined by accident, when a class is defined. */
const CAUSES =
  'A misspelt property, a variable of the environment that is not set, or two files that import each other leave it undefined.';

/**
 * Rejects a key, options, or the name of a registration that are given and undefined. A default in their place would lock something else
 * than the partners of the method lock, without a word.
 *
 * @param given the arguments, as many as were written
 * @param without what to write where no key is meant
 * @throws LockKeyError, LockConfigurationError
 */
export function refuseUndefined(given: readonly unknown[], where: string, without: string): void {
  const [key, options] = given;
  if (given.length > 0 && key === undefined) {
    const sentence = `${where}: the key is undefined, so it would not lock what others lock by that key. ${CAUSES} ${without}`;
    throw new LockKeyError(sentence, { message: sentence });
  }
  if (given.length > 1 && options === undefined) {
    throw new LockConfigurationError(
      `${where}: the options are undefined, so none of them would apply. ${CAUSES} Without options, leave the argument out.`,
    );
  }
  if (typeof options === 'object' && options !== null && 'name' in options && options.name === undefined) {
    throw new LockConfigurationError(
      `${where}: the name of the registration is undefined, so another one would lock. ${CAUSES} For the registration without a ` +
        'name, leave it out.',
    );
  }
}

/** Rejects a call as a standard ECMAScript decorator, which gets a context object instead of a property name. */
export function refuseStandardDecorators(property: unknown): void {
  if (typeof property !== 'object' || property === null || !('kind' in property)) return;
  throw new LockConfigurationError(
    '@FairLocked was called as a standard ECMAScript decorator, which has neither metadata nor injection. Like Nest, it needs ' +
      '"experimentalDecorators": true and "emitDecoratorMetadata": true in tsconfig.json, or the equivalent settings of your ' +
      'compiler (swc: legacyDecorator and decoratorMetadata).',
  );
}
