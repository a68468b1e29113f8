import { Logger } from '@nestjs/common';
import { type ModulesContainer } from '@nestjs/core';
import { FairLockError, LockShuttingDownError } from '../../core/errors/errors.js';
import { withPage } from '../../core/errors/pages.js';
import { isUncaught } from '../decorator/listener-metadata.js';
import { keepIdentity } from '../decorator/wrapper-identity.js';

/** The methods whose errors are logged already. */
const logged = new WeakSet<object>();

/** Prepares the listeners of all classes of the application. Must be called before Nest registers them, in the first hooks of a boot. */
export function prepareListeners(modules: ModulesContainer): void {
  for (const { controllers, providers } of modules.values()) {
    for (const { metatype, isNotMetatype } of [...controllers.values(), ...providers.values()]) {
      const prototype = isNotMetatype ? undefined : (metatype?.prototype as object | undefined);
      if (prototype) logErrorsOfLocks(prototype, (_, method) => isUncaught(method));
    }
  }
}

/**
 * Logs the errors of locks with which some methods of a class reject, locked themselves or not. No filter gets them, and the caller of the
 * method ignores its promise, so that a lock which is not granted would end the process. Other errors are left to do so.
 */
export function logErrorsOfLocks(
  prototype: object,
  isIgnored: (name: string | symbol, method: object) => boolean,
): void {
  const overridden = new Set<string | symbol>();
  let owner: object | null = prototype;
  for (; owner && owner !== Object.prototype; owner = Object.getPrototypeOf(owner) as object | null) {
    for (const name of Reflect.ownKeys(owner)) {
      const method: unknown = Object.getOwnPropertyDescriptor(owner, name)?.value;
      const mine = !overridden.has(name) && typeof method === 'function' && !logged.has(method);
      if (mine && isIgnored(name, method))
        Reflect.defineProperty(owner, name, { value: logging(name, method) });
      overridden.add(name);
    }
  }
}

function logging(name: string | symbol, method: object): object {
  const wrapper = function (this: object, ...args: unknown[]): unknown {
    const result: unknown = Reflect.apply(method as () => unknown, this, args);
    return result instanceof Promise
      ? result.catch((error: unknown) => log(`${this.constructor.name}.${String(name)}`, error))
      : result;
  };
  keepIdentity(method, wrapper);
  logged.add(wrapper);
  return wrapper;
}

function log(where: string, error: unknown): void {
  if (!(error instanceof FairLockError)) throw error;
  const line = withPage(
    `${where} failed, and its caller ignores that: ${error.details}`,
    'troubleshooting-your-code#an-unhandled-rejection',
  );
  const logger = new Logger('FairLock');
  // Every deployment rejects calls: nobody needs to look into it.
  if (error instanceof LockShuttingDownError) logger.debug(line);
  else logger.error(line);
}
