import { FairLockError } from './fair-lock-error.js';
import { quote, shown } from './text.js';

export { FairLockError, type FairLockErrorBody, type FairLockErrorCode } from './fair-lock-error.js';
export * from './wait-errors.js';

/** The lock was lost while it was held: another caller might hold it now. Stop, or reject late writes by fencing token. */
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
        `The lock ${quote(key)} was lost: ${why}. Another caller may hold it now, and anything this code does from here on is unprotected. ` +
        'Check what it wrote. Writes that carry the fencing token can still be rejected.',
      page: 'troubleshooting#a-lock-was-lost',
      status: 500,
    });
  }
}

/** The call needs a held lock, but the lock was released. */
export class LockNotHeldError extends FairLockError {
  static readonly code = 'NOT_HELD';
  readonly code = LockNotHeldError.code;
  constructor(readonly key: string) {
    super({
      message: 'The lock is not held.',
      details:
        `The lock ${quote(key)} was released before this code ran, so the work here is unprotected: usually an \`await\` is missing in ` +
        'your code.',
      page: 'errors#a-hold-used-after-its-end',
      status: 500,
    });
  }
}

/** A forced release named a holder that no longer has the lock. Nothing was changed. */
export class LockHolderChangedError extends FairLockError {
  static readonly code = 'HOLDER_CHANGED';
  readonly code = LockHolderChangedError.code;
  /** The token that was given. */
  readonly token: number | undefined;
  /** The id of a holder that was given. */
  readonly holder: string | undefined;
  constructor(
    readonly key: string,
    /** The token, or the id of a holder without one. */
    named: number | string,
    /** The token of the present holder; undefined: there is none. */
    readonly presentToken: number | undefined,
  ) {
    const what = typeof named === 'number' ? `token ${named}` : `holder ${quote(named)}`;
    super({
      message: 'The lock has another holder now.',
      details:
        `The lock ${quote(key)} was not released by force: the ${what} no longer holds it` +
        (presentToken === undefined ? '' : `, the token ${presentToken} does`) +
        '. Inspect the lock before you try again.',
      page: 'troubleshooting#a-lock-stays-held',
      status: 409,
    });
    this.token = typeof named === 'number' ? named : undefined;
    this.holder = typeof named === 'string' ? named : undefined;
  }
}

/** The wait could never end, because the caller already holds the lock that it would wait for. */
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
      page: 'errors#a-wait-that-could-never-end',
      status: 500,
    });
  }
}

/**
 * A key template or key function is wrong, or did not produce a usable key for this call. Status 500, as a bug of the caller; 400 if the
 * key comes from a request whose client sent an unusable value.
 */
export class LockKeyError extends FairLockError {
  static readonly code = 'KEY';
  readonly code = LockKeyError.code;
  constructor(
    details: string,
    /** `message`: the text that clients may read. */
    {
      message = 'No usable lock key could be derived from this call.',
      status = 500,
    }: { readonly message?: string; readonly status?: 400 | 500 } = {},
  ) {
    super({ message, details, page: 'errors#a-value-that-makes-no-key', status });
  }
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

/** Redis did not respond in time, or rejected the command. The caller does not hold the lock. */
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
      message: 'Locks are temporarily unavailable.',
      details,
      page: 'troubleshooting#responses-with-503-redis',
      status: 503,
      retryAfter: 1,
      cause,
    });
  }
}

/** The response to a forced release was lost, so it may have ended the hold. Not public: readers see a LockStoreUnavailableError. */
export class UnknownOutcomeError extends LockStoreUnavailableError {
  override readonly name = 'LockStoreUnavailableError';
}

/**
 * Too few replicas confirmed the grant in time, so after a failover another caller could have been granted the lock as well. It was
 * released and the caller does not hold it; retrying makes sense.
 */
export class LockNotReplicatedError extends FairLockError {
  static readonly code = 'NOT_REPLICATED';
  readonly code = LockNotReplicatedError.code;
  constructor(
    readonly key: string,
    /** How many replicas confirmed; undefined: unknown, since Redis did not respond. */
    readonly replicas: number | undefined,
    /** How many are required (`replicas.min`). */
    readonly min: number,
    /** Milliseconds that they had (`replicas.timeout`). */
    readonly timeout: number,
  ) {
    super({
      message: 'Locks are temporarily unavailable.',
      details:
        `The lock ${quote(key)} was released: ` +
        (replicas === undefined
          ? 'Redis did not report how many replicas have it'
          : `${replicas} of the required ${min} replicas confirmed it within ${timeout} ms`) +
        '. The request failed, and the caller does not hold the lock. Check the replicas, or lower replicas.min.',
      page: 'troubleshooting#responses-with-503-replicas',
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
  /** @param isOther whether another version of the library wrote it: this instance cannot serve, but others can (503) */
  constructor(details: string, cause?: unknown, isOther = false) {
    super({
      message: 'The lock is kept in a form that this version cannot read.',
      details,
      page: 'troubleshooting#responses-with-503-versions',
      status: isOther ? 503 : 500,
      cause,
    });
  }
}

/** An option or a call that cannot work, found at boot or when it is called. */
export class LockConfigurationError extends FairLockError {
  static readonly code = 'CONFIGURATION';
  readonly code = LockConfigurationError.code;
  /** @param message a sentence without a key, if `details` names one and a client could read it */
  constructor(details: string, message?: string) {
    super({ message: message ?? details, details, status: 500 });
  }
}

/** The application is closing: new requests are rejected, all waiters leave their queues, and finally all holders are asked to stop. */
export class LockShuttingDownError extends FairLockError {
  static readonly code = 'SHUTTING_DOWN';
  readonly code = LockShuttingDownError.code;
  /** @param label of the call: `OrdersService.pay` */
  constructor(
    readonly key: string,
    label = '',
  ) {
    super({
      message: 'The application is shutting down.',
      details:
        `The application is shutting down: it no longer serves requests for the lock ${quote(key)}${label && ` (${label})`}, ` +
        'and its holders should stop.',
      page: 'troubleshooting#responses-with-503-while-deploying',
      status: 503,
      retryAfter: 1,
    });
  }
}

/**
 * What went wrong, in a sentence for readers who did not request a lock: it does not say that no lock was taken. Also of what is no error at
 * all, or cannot be read: a revoked proxy, a getter that throws.
 */
export function sentenceOf(error: unknown): string {
  try {
    if (error instanceof LockStoreUnavailableError) return error.reason;
    if (error instanceof FairLockError) return error.details;
    const { message } = Object(error) as Partial<Error>;
    return typeof message === 'string' ? message : shown(error);
  } catch {
    return 'a value that cannot be read';
  }
}
