/** The errors of requests that leave their line without the lock. */

import { FairLockError } from './fair-lock-error.js';
import { duration, printable, quote } from './text.js';

/** The wait time ended, or a try found the lock busy. The request is out of the line and will not get the lock. */
export class LockTimeoutError extends FairLockError {
  static readonly code = 'WAIT_TIMEOUT';
  readonly code = LockTimeoutError.code;
  constructor(
    readonly key: string,
    /** Milliseconds that the caller was willing to wait. */
    readonly waitTime: number,
    /** What blocked the request when its wait ended, as far as known: the holder as `host/pid/label`, and for how long it has held. */
    readonly blockedBy: {
      readonly holder?: string;
      readonly heldFor?: number | undefined;
      readonly ahead?: number;
      /** Milliseconds for which this very process has held it, if it is the holder. */
      readonly heldHereFor?: number | undefined;
      /** Milliseconds for which the lock is still kept: it has no holder, but the `holdAtLeast` of `holder` is not over. */
      readonly keptFor?: number;
    } = {},
  ) {
    super({
      message:
        waitTime === 0 ? 'The lock is busy.' : `The lock was not granted within ${Math.round(waitTime)} ms.`,
      details:
        waitTime === 0
          ? `The lock ${quote(key)} is busy${describeBlocker(blockedBy)}.`
          : `Gave up waiting for the lock ${quote(key)} after ${duration(waitTime)}${describeBlocker(blockedBy)}. ` +
            `The request has left the line. ${adviseOn(blockedBy)}`,
      status: 423,
      retryAfter: Math.max(1, Math.ceil((blockedBy.keptFor ?? 0) / 1_000)),
    });
  }
}

/** Why a wait ends when the client of its request goes away: the `cause` of its LockAbortedError. */
export class ClientGoneError extends Error {
  constructor() {
    super('The client went away before it was answered.');
    this.name = new.target.name;
  }
}

/**
 * The caller's signal aborted while the request was in line, or the client of the request went away; `cause` is the
 * reason of the signal, or says that the client has gone.
 */
export class LockAbortedError extends FairLockError {
  static readonly code = 'ABORTED';
  readonly code = LockAbortedError.code;
  constructor(
    readonly key: string,
    reason: unknown,
  ) {
    super({
      message:
        reason instanceof ClientGoneError
          ? 'The client went away while its request waited for the lock.'
          : 'The wait for the lock was aborted.',
      details:
        (reason instanceof ClientGoneError
          ? `The client went away while its request waited for the lock ${quote(key)}.`
          : `The wait for the lock ${quote(key)} was aborted by the caller.`) +
        ' The request has left the line.',
      status: 499,
      cause: reason,
    });
  }
}

/** The error of a request whose signal has aborted. A FairLockError given as the reason is used as it is. */
export function abortError(key: string, reason: unknown): FairLockError {
  return reason instanceof FairLockError ? reason : new LockAbortedError(key, reason);
}

/** As many requests wait for this lock as `maxQueue` allows; this one did not join the line. */
export class LockQueueFullError extends FairLockError {
  static readonly code = 'QUEUE_FULL';
  readonly code = LockQueueFullError.code;
  constructor(
    readonly key: string,
    readonly maxQueue: number,
  ) {
    super({
      message: 'Too many requests wait for the lock already.',
      details:
        `The line for the lock ${quote(key)} is full: ${maxQueue} request${maxQueue === 1 ? ' is' : 's are'} waiting already. ` +
        'Ask again later, or raise maxQueue.',
      status: 503,
      retryAfter: 1,
    });
  }
}

function describeBlocker(blocker: LockTimeoutError['blockedBy']): string {
  return describeHolder(blocker) + (blocker.ahead === undefined ? '' : `, ${blocker.ahead} ahead`);
}

function describeHolder({ holder, heldFor, keptFor }: LockTimeoutError['blockedBy']): string {
  if (keptFor !== undefined) {
    const by = holder ? `: ${printable(holder)} held it last, with holdAtLeast` : '';
    return `, kept for another ${duration(keptFor)}${by}`;
  }
  if (!holder) return '';
  return `, held by ${printable(holder)}${heldFor === undefined ? '' : ` for ${duration(heldFor)}`}`;
}

function adviseOn({ heldHereFor, keptFor }: LockTimeoutError['blockedBy']): string {
  if (keptFor !== undefined) return 'Raise waitTime, or lower holdAtLeast.';
  if (heldHereFor === undefined) return 'Raise waitTime, or make the holder faster.';
  return (
    `This process has held it for ${duration(heldHereFor)}: if the flow that waited took it by acquire(), which opens no ` +
    'scope, it waited for itself. Use withLock, or run the code that follows by lock.run; otherwise raise waitTime, or make the ' +
    'holder faster.'
  );
}
