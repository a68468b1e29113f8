import { Logger } from '@nestjs/common';
import { LockShuttingDownError } from '../../core/errors/errors.js';

const REJECTED = 'unhandledRejection';

/**
 * From now on, an unhandled refusal of a shutdown is logged, such as that of a timer or of the listener of an event. It would end the
 * process, with all sections that still run. There is one listener, which stays: a service that was closed refuses calls for as long as
 * the process lives.
 */
export function logUnhandledRefusals(): void {
  if (!process.listeners(REJECTED).includes(onRejectionInFairLock))
    process.on(REJECTED, onRejectionInFairLock);
}

function onRejectionInFairLock(reason: unknown): void {
  if (reason instanceof LockShuttingDownError) {
    new Logger('FairLock').warn(
      `${reason.code}: A rejection was not handled, which would have ended the process. ${reason.details}`,
    );
    return;
  }
  // Node ends a process only if there is no listener: this one must not save it from other errors. That of another copy of this package
  // does not count.
  const others = process.listeners(REJECTED).filter(({ name }) => name !== onRejectionInFairLock.name);
  if (others.length === 0) throw reason;
}
