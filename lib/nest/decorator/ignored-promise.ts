import { Logger } from '@nestjs/common';
import { FairLockError, LockShuttingDownError } from '../../core/errors/errors.js';
import { withPage } from '../../core/errors/pages.js';
import { isUncaught } from './listener-metadata.js';
import { handlerClasses } from './nest-metadata.js';

/** Methods of a gateway that Nest calls without waiting for their promises. */
const LIFECYCLE: readonly unknown[] = ['afterInit', 'handleConnection', 'handleDisconnect'];

/**
 * Whether the package that calls this method of an object drops its promise, so that a rejection has no handler and ends the process. Looked
 * up in the object, since other decorators may have wrapped the method, and only then has Nest prepared its gateways.
 */
export function isPromiseIgnored(self: object, property: string | symbol): boolean {
  const method: unknown = Reflect.get(self, property);
  if (typeof method !== 'function') return false;
  return isUncaught(method) || (LIFECYCLE.includes(property) && handlerClasses.gateways(self.constructor));
}

/**
 * Logs the error of a lock that no filter gets, and that the caller of the method ignores.
 *
 * @throws every other error, which ends the process as without a lock
 */
export function logIgnored(error: unknown, self: object, property: string | symbol): void {
  if (!(error instanceof FairLockError)) throw error;
  const line = withPage(
    `${self.constructor.name}.${String(property)} failed, and its caller ignores that: ${error.details}`,
    'errors#an-unhandled-rejection',
  );
  const logger = new Logger('FairLock');
  // Each deployment causes some: this is no error.
  if (error instanceof LockShuttingDownError) logger.debug(line);
  else logger.error(line);
}
