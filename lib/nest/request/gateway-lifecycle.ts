import { Logger } from '@nestjs/common';
import { FairLockError } from '../../core/errors/errors.js';

const LIFECYCLE = ['afterInit', 'handleConnection', 'handleDisconnect'];

/** The methods whose errors are logged already. */
const logged = new WeakSet<object>();

/**
 * Logs the errors of locks with which the lifecycle methods of a gateway reject, locked themselves or not. No filter gets them, and Nest
 * drops the promise, so that a lock which is not granted would end the process. Other errors are left to do so.
 */
export function logErrorsOfLifecycle(prototype: object): void {
  for (const name of LIFECYCLE) {
    let owner: object | null = prototype;
    while (owner && !Object.hasOwn(owner, name)) owner = Object.getPrototypeOf(owner) as object | null;
    const method: unknown = owner && Reflect.get(owner, name);
    if (!owner || typeof method !== 'function' || logged.has(method)) continue;
    const logging = function (this: object, ...args: unknown[]): unknown {
      const result: unknown = Reflect.apply(method, this, args);
      return result instanceof Promise
        ? result.catch((error: unknown) => log(`${this.constructor.name}.${name}`, error))
        : result;
    };
    logged.add(logging);
    Object.defineProperty(owner, name, { value: logging });
  }
}

function log(where: string, error: unknown): void {
  if (!(error instanceof FairLockError)) throw error;
  new Logger('FairLock').warn(
    `${error.code}: ${where} failed, and Nest ignores its promise. ${error.details}`,
  );
}
