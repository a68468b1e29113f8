import { FairLockError } from './fair-lock-error.js';
import { see, withPlace } from './mistakes.js';
import { quote } from './text.js';

export { FairLockError, type FairLockErrorBody, type FairLockErrorCode } from './fair-lock-error.js';
export * from './wait-errors.js';

/** The lock was lost while it was held: another caller may hold it now. Stop, or refuse late writes by fencing token. */
export class LockLostError extends FairLockError {
  static readonly code = 'LOST';
  readonly code = LockLostError.code;
  constructor(
    readonly key: string,
    /** Completes "The lock … was lost: …". */
    readonly why: string,
  ) {
    super({
      message: 'The lock was lost while it was held.',
      details:
        `The lock ${quote(key)} was lost: ${why}. Another caller may hold it now, so the code that follows is not protected; ` +
        'writes that carry the fencing token can still be refused.',
      status: 500,
    });
  }
}

/** The call needs a held lock, but the lock was released, or this flow never held it. */
export class LockNotHeldError extends FairLockError {
  static readonly code = 'NOT_HELD';
  readonly code = LockNotHeldError.code;
  constructor(readonly key: string) {
    super({
      message: 'The lock is not held.',
      details:
        `The lock ${quote(key)} is not held here: it was released, or never acquired in this flow.` +
        see('A hold used after its end'),
      status: 500,
    });
  }
}

/** A forced release named a holder, which does not have the lock any more. Nothing was changed. */
export class LockHolderChangedError extends FairLockError {
  static readonly code = 'HOLDER_CHANGED';
  readonly code = LockHolderChangedError.code;
  /** The token that was given. */
  readonly token: number | undefined;
  /** The id of a shared holder that was given. */
  readonly holder: string | undefined;
  constructor(
    readonly key: string,
    /** The token, or the id of a shared holder. */
    named: number | string,
    /** The token of the present holder; undefined: the lock is free, or shared. */
    readonly presentToken: number | undefined,
  ) {
    const what = typeof named === 'number' ? `token ${named}` : `holder ${quote(named)}`;
    super({
      message: 'The lock has another holder now.',
      details:
        `The lock ${quote(key)} was not released by force: the ${what} no longer holds it` +
        (presentToken === undefined ? ', the lock is free or shared' : `, the token ${presentToken} does`) +
        '. Look again (inspect) before you repeat it.',
      status: 409,
    });
    this.token = typeof named === 'number' ? named : undefined;
    this.holder = typeof named === 'string' ? named : undefined;
  }
}

/** The wait could never end, because the caller itself holds the lock that it would wait for. */
export class LockDeadlockError extends FairLockError {
  static readonly code = 'DEADLOCK';
  readonly code = LockDeadlockError.code;
  constructor(
    readonly key: string,
    why: string,
  ) {
    super({
      message: 'Waiting for the lock here could deadlock.',
      details: `Waiting for the lock ${quote(key)} here could deadlock: ${why}`,
      status: 500,
    });
  }
}

/**
 * A key template or key function is wrong, or produced no usable key from this call. Status 500, as a bug of the caller; 400 if the
 * key comes from a request, whose client sent an unusable value.
 */
export class LockKeyError extends FairLockError {
  static readonly code = 'KEY';
  readonly code = LockKeyError.code;
  constructor(
    details: string,
    { message = 'This call gives no usable key for its lock.', status = 500 }: KeyErrorOptions = {},
  ) {
    super({ message, details, status });
  }
}

interface KeyErrorOptions {
  /** The text that clients may read. */
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
    /** Why the store could not serve, in a sentence: `details` without the consequence for the requested lock. */
    readonly reason: string = details,
  ) {
    super({
      message: 'No lock can be taken at the moment.',
      details,
      status: 503,
      retryAfter: 1,
      cause,
    });
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
    super({
      message: 'No lock can be taken at the moment.',
      details:
        `The lock ${quote(key)} was released: ` +
        (replicas === undefined
          ? `no answer said how many replicas have it`
          : `${replicas} of the ${min} replicas that are demanded confirmed it within ${timeout} ms`) +
        '. The lock was not taken. Check the replicas, or lower replicas.min.',
      status: 503,
      retryAfter: 1,
    });
  }
}

/**
 * The store keeps the lock in a form that this version of the library cannot read: another version or another program wrote
 * it. The lock was not taken, and nothing was changed.
 */
export class LockProtocolError extends FairLockError {
  static readonly code = 'PROTOCOL';
  readonly code = LockProtocolError.code;
  /** @param newer whether a newer version of the library wrote it: this instance cannot serve, others may (503) */
  constructor(details: string, cause?: unknown, newer = false) {
    super({
      message: 'The lock is kept in a form that this version cannot read.',
      details,
      status: newer ? 503 : 500,
      cause,
    });
  }
}

/** An option or a call that cannot work, found at boot or at the call. */
export class LockConfigurationError extends FairLockError {
  static readonly code = 'CONFIGURATION';
  readonly code = LockConfigurationError.code;
  /** @param message a sentence without a key, if `details` names one and a client could read it */
  constructor(details: string, message?: string) {
    const sentence = withPlace(details);
    super({ message: message ?? sentence, details: sentence, status: 500 });
  }
}

/** The application is closing: no new locks, all waiters leave their lines, and in the end all holders are asked to stop. */
export class LockShuttingDownError extends FairLockError {
  static readonly code = 'SHUTTING_DOWN';
  readonly code = LockShuttingDownError.code;
  constructor(readonly key: string) {
    super({
      message: 'The application is shutting down.',
      details:
        `The application is shutting down: no request for the lock ${quote(key)} is served any more, ` +
        'and holders are to stop.',
      status: 503,
      retryAfter: 1,
    });
  }
}

/** What went wrong, in a sentence for readers who did not request a lock: it does not say that no lock was taken. */
export function sentenceOf(error: unknown): string {
  if (error instanceof LockStoreUnavailableError) return error.reason;
  if (error instanceof FairLockError) return error.details;
  return error instanceof Error ? error.message : String(error);
}
