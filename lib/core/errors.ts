import { FairLockError } from './fair-lock-error.js';
import { duration, printable, quote } from './text.js';

export { FairLockError, type FairLockErrorBody, type FairLockErrorCode } from './fair-lock-error.js';

/** The wait time ended, or a try found the lock busy. The request is out of the line and will not get the lock. */
export class LockTimeoutError extends FairLockError {
  static readonly code = 'WAIT_TIMEOUT';
  readonly code = LockTimeoutError.code;
  constructor(
    readonly key: string,
    /** Milliseconds that the caller was willing to wait. */
    readonly waitTime: number,
    /** What was in the way when it ended, as far as known: the holder as `host/pid/label`, and for how long it has held. */
    readonly blockedBy: {
      readonly holder?: string;
      readonly heldFor?: number | undefined;
      readonly ahead?: number;
      /** Milliseconds for which this very process has held it, if it is the holder. */
      readonly heldHereFor?: number | undefined;
    } = {},
  ) {
    super(
      waitTime === 0
        ? {
            message: 'The lock is busy.',
            details: `The lock ${quote(key)} is busy${describeBlocker(blockedBy)}.`,
          }
        : {
            message: `The lock was not granted within ${Math.round(waitTime)} ms.`,
            details:
              `Gave up waiting for the lock ${quote(key)} after ${duration(waitTime)}${describeBlocker(blockedBy)}. ` +
              `The request has left the line. ${adviseOn(blockedBy)}`,
          },
      { status: 423, expose: true, retryAfter: 1 },
    );
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
    super(
      {
        message:
          reason instanceof ClientGoneError
            ? 'The client went away while its request waited for the lock.'
            : 'The wait for the lock was aborted.',
        details:
          (reason instanceof ClientGoneError
            ? `The client went away while its request waited for the lock ${quote(key)}.`
            : `The wait for the lock ${quote(key)} was aborted by the caller.`) +
          ' The request has left the line.',
      },
      { status: 499, expose: true, cause: reason },
    );
  }
}

/** What a request is refused with when the signal of its wait aborts: a FairLockError given as reason, as it is. */
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
    super(
      {
        message: 'Too many requests wait for the lock already.',
        details:
          `The line for the lock ${quote(key)} is full: ${maxQueue} request${maxQueue === 1 ? ' is' : 's are'} waiting already. ` +
          'Ask again later, or raise maxQueue.',
      },
      { status: 503, expose: true, retryAfter: 1 },
    );
  }
}

/** The lock was lost while it was held: another may hold it now. Stop, or refuse by fencing token. */
export class LockLostError extends FairLockError {
  static readonly code = 'LOST';
  readonly code = LockLostError.code;
  constructor(
    readonly key: string,
    /** Completes "The lock … was lost: …". */
    readonly why: string,
  ) {
    super(
      {
        message: 'The lock was lost while it was held.',
        details:
          `The lock ${quote(key)} was lost: ${why}. Another caller may hold it now, so what follows is not protected; ` +
          'writes that carry the fencing token can still be refused.',
      },
      { status: 500, expose: false },
    );
  }
}

/** Asked of a lock that was released, or that this flow never held. */
export class LockNotHeldError extends FairLockError {
  static readonly code = 'NOT_HELD';
  readonly code = LockNotHeldError.code;
  constructor(readonly key: string) {
    super(
      {
        message: 'The lock is not held.',
        details: `The lock ${quote(key)} is not held here: it was released, or never acquired in this flow.`,
      },
      { status: 500, expose: false },
    );
  }
}

/** Waiting here could never end, because the caller itself holds what it would wait for. */
export class LockDeadlockError extends FairLockError {
  static readonly code = 'DEADLOCK';
  readonly code = LockDeadlockError.code;
  constructor(
    readonly key: string,
    why: string,
  ) {
    super(
      {
        message: 'Waiting for the lock here could deadlock.',
        details: `Waiting for the lock ${quote(key)} here could deadlock: ${why}`,
      },
      { status: 500, expose: false },
    );
  }
}

/**
 * A key template or key function is wrong, or produced no usable key from this call. 500, as a bug of the caller; 400
 * where the key comes from a request, whose client sent what makes no key.
 */
export class LockKeyError extends FairLockError {
  static readonly code = 'KEY';
  readonly code = LockKeyError.code;
  constructor(
    details: string,
    { message = 'This call gives no usable key for its lock.', status = 500 }: KeyErrorOptions = {},
  ) {
    super({ message, details }, { status, expose: status < 500 });
  }
}

interface KeyErrorOptions {
  /** What a client may read. */
  readonly message?: string;
  readonly status?: 400 | 500;
}

/** Why a store could not serve. */
export type StoreFailure =
  | 'unreachable'
  | 'timeout'
  | 'read-only'
  | 'out-of-memory'
  | 'loading'
  | 'busy'
  | 'wrong-credentials'
  | 'not-permitted'
  | 'foreign-type'
  | 'refused';

/** The store did not answer in time or refused the command. The caller does not own the lock. */
export class LockStoreUnavailableError extends FairLockError {
  static readonly code = 'STORE_UNAVAILABLE';
  readonly code = LockStoreUnavailableError.code;
  constructor(
    /** Machine-readable cause. */
    readonly failure: StoreFailure,
    details: string,
    cause?: unknown,
  ) {
    super(
      { message: 'No lock can be taken at the moment.', details },
      { status: 503, expose: true, retryAfter: 1, cause },
    );
  }
}

/**
 * Too few replicas confirmed the grant in time, so a failover could have given the lock to another as well. It was given
 * back and the caller does not own it; asking again makes sense.
 */
export class LockNotReplicatedError extends FairLockError {
  static readonly code = 'NOT_REPLICATED';
  readonly code = LockNotReplicatedError.code;
  constructor(
    readonly key: string,
    /** How many replicas confirmed; undefined: there was no answer. */
    readonly replicas: number | undefined,
    /** How many are demanded (`replicas.min`). */
    readonly min: number,
    /** Milliseconds that they had (`replicas.timeout`). */
    readonly timeout: number,
  ) {
    super(
      {
        message: 'No lock can be taken at the moment.',
        details:
          `The lock ${quote(key)} was given back: ` +
          (replicas === undefined
            ? `no answer told how many replicas have it`
            : `${replicas} of the ${min} replicas that are demanded confirmed it within ${timeout} ms`) +
          '. The lock was not taken. Check the replicas, or lower replicas.min.',
      },
      { status: 503, expose: true, retryAfter: 1 },
    );
  }
}

/**
 * The store keeps the lock in a form that this version of the library cannot read: another version or another program wrote
 * it. The lock was not taken, and nothing was changed.
 */
export class LockProtocolError extends FairLockError {
  static readonly code = 'PROTOCOL';
  readonly code = LockProtocolError.code;
  constructor(details: string, cause?: unknown) {
    super(
      { message: 'The lock is kept in a form that this version cannot read.', details },
      { status: 500, expose: false, cause },
    );
  }
}

/** An option or a call that cannot work, found at boot or at the call. */
export class LockConfigurationError extends FairLockError {
  static readonly code = 'CONFIGURATION';
  readonly code = LockConfigurationError.code;
  /** @param message where a client could read it and `details` names a key: a sentence that does not */
  constructor(details: string, message: string = details) {
    super({ message, details }, { status: 500, expose: false });
  }
}

/** The application is closing: no new locks, all who wait leave their lines, and in the end all holders are to stop. */
export class LockShuttingDownError extends FairLockError {
  static readonly code = 'SHUTTING_DOWN';
  readonly code = LockShuttingDownError.code;
  constructor(readonly key: string) {
    super(
      {
        message: 'The application is shutting down.',
        details:
          `The application is shutting down: no request for the lock ${quote(key)} is served any more, ` +
          'and holders are to stop.',
      },
      { status: 503, expose: true, retryAfter: 1 },
    );
  }
}

function describeBlocker(blocker: LockTimeoutError['blockedBy']): string {
  const holder = blocker.holder
    ? `, held by ${printable(blocker.holder)}${blocker.heldFor === undefined ? '' : ` for ${duration(blocker.heldFor)}`}`
    : '';
  return holder + (blocker.ahead === undefined ? '' : `, ${blocker.ahead} ahead`);
}

function adviseOn({ heldHereFor }: LockTimeoutError['blockedBy']): string {
  if (heldHereFor === undefined) return 'Raise waitTime, or make the holder faster.';
  return (
    `This process has held it for ${duration(heldHereFor)}: if the flow that waited took it by acquire(), which opens no ` +
    'scope, it waited for itself. Use withLock, or the same owner for both; otherwise raise waitTime, or make the ' +
    'holder faster.'
  );
}
