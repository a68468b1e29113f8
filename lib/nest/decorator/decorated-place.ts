import { Logger } from '@nestjs/common';
import { LockConfigurationError } from '../../core/errors/errors.js';
import { see } from '../../core/errors/mistakes.js';

/**
 * The name of a decorated method, `OrdersService.pay`, which is also its key if the decorator has none.
 *
 * @throws LockConfigurationError where `@FairLocked` cannot work
 */
export function nameOfPlace(
  target: object,
  property: string | symbol | undefined,
  method: unknown,
  hasKey: boolean,
): string {
  refuseStandardDecorators(property);
  const className = (typeof target === 'function' ? target : target.constructor).name;
  // If the decorator is on a class, `property` is undefined.
  const name = property === undefined ? className : `${className}.${String(property)}`;
  if (typeof target === 'function' || typeof method !== 'function') {
    throw new LockConfigurationError(
      `@FairLocked on ${name}: only methods of instances can be locked, since the lock comes by injection; ` +
        'no classes, static methods, accessors or properties.' +
        see('A static method, an accessor or a class'),
    );
  }
  if (!hasKey && className === '') {
    throw new LockConfigurationError(
      `@FairLocked on the method ${String(property)} of a class without a name: give the lock a key.`,
    );
  }
  if (!hasKey && looksMinified(className)) {
    new Logger('FairLock').warn(
      `@FairLocked() without a key on ${name}: the key is made of the names of the class and the method, and a minifier ` +
        'seems to have changed them. Other classes, and other builds, may get the same key. Give the lock a key.',
    );
  }
  return name;
}

/** Refuses a call as a standard ECMAScript decorator, which gets a context object instead of a property name. */
function refuseStandardDecorators(property: unknown): void {
  if (typeof property !== 'object' || property === null || !('kind' in property)) return;
  throw new LockConfigurationError(
    '@FairLocked was called as a decorator of the ECMAScript standard, which has no metadata and no injection. Like Nest, ' +
      'it needs "experimentalDecorators": true and "emitDecoratorMetadata": true in the tsconfig.json, or the same ' +
      'of the compiler in use (swc: legacyDecorator and decoratorMetadata).' +
      see('Decorators of the ECMAScript standard'),
  );
}

/** Names as minifiers give them: `t`, `ab`, `a1`. */
function looksMinified(className: string): boolean {
  return /^(?:.{1,2}|[a-z_$][\w$]{0,2})$/.test(className);
}
