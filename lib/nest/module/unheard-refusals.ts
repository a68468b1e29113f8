import { Logger } from '@nestjs/common';
import { LockShuttingDownError } from '../../core/errors/errors.js';
import { see } from '../../core/errors/mistakes.js';

const REJECTED = 'unhandledRejection';

/**
 * From now on, a call that a shutdown refuses and whose error nobody catches is logged, as of a timer or of the listener of an event. It
 * would end the process in the middle of its shutdown, with all sections that run. There is one listener, which stays: a service that
 * was closed refuses calls for as long as the process lives.
 */
export function logUnheardRefusals(): void {
  if (!process.listeners(REJECTED).includes(onRejection)) process.on(REJECTED, onRejection);
}

function onRejection(reason: unknown): void {
  if (reason instanceof LockShuttingDownError) {
    new Logger('FairLock').warn(
      `Nobody caught this error, which would have ended the process: ${reason.details}` +
        see('An error that nobody catches'),
    );
    return;
  }
  // Node ends a process only if nobody listens: this listener must not save it from other errors.
  const others = process.listeners(REJECTED).filter(({ name }) => name !== onRejection.name); // that of another copy of this package is none
  if (others.length === 0) throw reason;
}
