import { Logger } from '@nestjs/common';
import { LockKeyError } from '../../core/errors/errors.js';

/** The time of the last warning of each handler, on the monotonic clock. */
const warned = new WeakMap<object, number>();

/** The pause between two warnings of one handler, ms. */
const BETWEEN_WARNINGS = 3_600_000;

/**
 * Logs the first request of a handler that makes no key: the client is told 400, and a typo in the key would reach no operator.
 *
 * @param place for the log: `OrdersController.pay`
 * @param fields what the request has instead, if that is known
 */
export function keysOrWarning<T>(handler: object, place: string, keysOf: () => T, fields = () => ''): T {
  try {
    return keysOf();
  } catch (error) {
    const last = warned.get(handler) ?? -Infinity;
    const isOfClient = error instanceof LockKeyError && error.status === 400;
    if (isOfClient && performance.now() - last > BETWEEN_WARNINGS) {
      warned.set(handler, performance.now());
      new Logger('FairLock').warn(
        `A request to ${place} got 400, because it gives its lock no key. If all of them do, the key is misspelt` +
          `${fields()}. Further ones are logged once an hour. ${error.details}`,
      );
    }
    throw error;
  }
}
