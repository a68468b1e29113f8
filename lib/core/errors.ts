/** What went wrong, for programs. */
export type FairLockErrorCode =
  | 'WAIT_TIMEOUT'
  | 'ABORTED'
  | 'QUEUE_FULL'
  | 'LOST'
  | 'NOT_HELD'
  | 'DEADLOCK'
  | 'KEY'
  | 'STORE_UNAVAILABLE'
  | 'NOT_REPLICATED'
  | 'CONFIGURATION'
  | 'SHUTTING_DOWN';

/**
 * Base of every error this library throws.
 *
 * A plain Error with the fields of the http-errors convention (`status`, `statusCode`, `expose`), which Nest's
 * default exception filter understands; services stay free of HTTP classes.
 */
export abstract class FairLockError extends Error {
  abstract readonly code: FairLockErrorCode;
  /** The HTTP status that fits, e.g. 423 Locked. */
  readonly status: number;
  /** Same as `status`; Nest requires both. */
  readonly statusCode: number;
  /** Whether the message may be shown to an HTTP client: never, it names hosts, processes and keys. */
  readonly expose: boolean;
  /** Seconds after which asking again makes sense, for a Retry-After header. */
  readonly retryAfter: number | undefined;

  protected constructor(
    message: string,
    options: { status: number; expose: boolean; retryAfter?: number | undefined; cause?: unknown },
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = new.target.name;
    this.status = this.statusCode = options.status;
    this.expose = options.expose;
    this.retryAfter = options.retryAfter;
  }
}

/** The wait time ended, or a try found the lock busy. The request is out of the line and will not get the lock. */
export class LockTimeoutError extends FairLockError {
  readonly code = 'WAIT_TIMEOUT';
  constructor(
    readonly key: string,
    /** Milliseconds that the caller was willing to wait. */
    readonly waitTime: number,
    /** Who was in the way when it ended, as far as known. */
    readonly blockedBy: {
      readonly holder?: string;
      readonly heldFor?: number | undefined;
      readonly ahead?: number;
    } = {},
  ) {
    super(
      waitTime === 0
        ? `The lock ${quote(key)} is busy${describeBlocker(blockedBy)}.`
        : `Gave up waiting for the lock ${quote(key)} after ${seconds(waitTime)}${describeBlocker(blockedBy)}. ` +
            'The request has left the line. Raise waitTime, or make the holder faster.',
      { status: 423, expose: false, retryAfter: 1 },
    );
  }
}

/** The caller's signal aborted while the request was in line; `cause` is the signal's reason. */
export class LockAbortedError extends FairLockError {
  readonly code = 'ABORTED';
  constructor(
    readonly key: string,
    reason: unknown,
  ) {
    super(`The wait for the lock ${quote(key)} was aborted by the caller. The request has left the line.`, {
      status: 499,
      expose: false,
      cause: reason,
    });
  }
}

/** What a request is refused with when the signal of its wait aborts: a FairLockError given as reason, as it is. */
export function abortError(key: string, reason: unknown): FairLockError {
  return reason instanceof FairLockError ? reason : new LockAbortedError(key, reason);
}

/** As many requests wait for this lock as `maxQueue` allows; this one did not join the line. */
export class LockQueueFullError extends FairLockError {
  readonly code = 'QUEUE_FULL';
  constructor(
    readonly key: string,
    readonly maxQueue: number,
  ) {
    super(
      `The line for the lock ${quote(key)} is full: ${maxQueue} request${maxQueue === 1 ? ' is' : 's are'} waiting already. ` +
        'AcquireCall again later, or raise maxQueue.',
      { status: 503, expose: false, retryAfter: 1 },
    );
  }
}

/** The lock was lost while it was held: another may hold it now. Stop, or refuse by fencing token. */
export class LockLostError extends FairLockError {
  readonly code = 'LOST';
  constructor(
    readonly key: string,
    /** Completes "The lock … was lost: …". */
    readonly why: string,
  ) {
    super(
      `The lock ${quote(key)} was lost: ${why}. Another caller may hold it now, so what follows is not protected; ` +
        'writes that carry the fencing token can still be refused.',
      { status: 500, expose: false },
    );
  }
}

/** Asked of a lock that was released, or that this flow never held. */
export class LockNotHeldError extends FairLockError {
  readonly code = 'NOT_HELD';
  constructor(readonly key: string) {
    super(`The lock ${quote(key)} is not held here: it was released, or never acquired in this flow.`, {
      status: 500,
      expose: false,
    });
  }
}

/** Waiting here could never end, because the caller itself holds what it would wait for. */
export class LockDeadlockError extends FairLockError {
  readonly code = 'DEADLOCK';
  constructor(
    readonly key: string,
    why: string,
  ) {
    super(`Waiting for the lock ${quote(key)} here could deadlock: ${why}`, { status: 500, expose: false });
  }
}

/** A key template or key function is wrong, or produced no usable key from these arguments. A bug in the caller. */
export class LockKeyError extends FairLockError {
  readonly code = 'KEY';
  constructor(message: string) {
    super(message, { status: 500, expose: false });
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
  | 'not-permitted'
  | 'foreign-type'
  | 'refused';

/** The store did not answer in time or refused the command. The caller does not own the lock. */
export class LockStoreUnavailableError extends FairLockError {
  readonly code = 'STORE_UNAVAILABLE';
  constructor(
    /** Machine-readable cause. */
    readonly failure: StoreFailure,
    message: string,
    cause?: unknown,
  ) {
    super(message, { status: 503, expose: false, retryAfter: 1, cause });
  }
}

/**
 * Too few replicas confirmed the grant in time, so a failover could have given the lock to another as well. It was given
 * back and the caller does not own it; asking again makes sense.
 */
export class LockNotReplicatedError extends FairLockError {
  readonly code = 'NOT_REPLICATED';
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
      `The lock ${quote(key)} was given back: ` +
        (replicas === undefined
          ? `no answer told how many replicas have it`
          : `${replicas} of the ${min} replicas that are demanded confirmed it within ${timeout} ms`) +
        '. The lock was not taken. Check the replicas, or lower replicas.min.',
      { status: 503, expose: false, retryAfter: 1 },
    );
  }
}

/** An option or a call that cannot work, found at boot or at the call. */
export class LockConfigurationError extends FairLockError {
  readonly code = 'CONFIGURATION';
  constructor(message: string) {
    super(message, { status: 500, expose: false });
  }
}

/** The application is closing: no new locks, whoever is in line leaves it, and in the end whoever holds is to stop. */
export class LockShuttingDownError extends FairLockError {
  readonly code = 'SHUTTING_DOWN';
  constructor(readonly key: string) {
    super(
      `The application is shutting down: no request for the lock ${quote(key)} is served any more, ` +
        'and whoever still holds it is to stop.',
      { status: 503, expose: false, retryAfter: 1 },
    );
  }
}

/** Longest part of a key that a message repeats. */
const QUOTED_KEY_LENGTH = 120;

/** A key as messages show it. */
export function quote(key: string): string {
  return JSON.stringify(key.length > QUOTED_KEY_LENGTH ? `${key.slice(0, QUOTED_KEY_LENGTH)}…` : key);
}

function seconds(ms: number): string {
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${Number((ms / 1_000).toFixed(1))} s`;
}

function describeBlocker(blocker: LockTimeoutError['blockedBy']): string {
  const holder = blocker.holder
    ? `, held by ${blocker.holder}${blocker.heldFor === undefined ? '' : ` for ${seconds(blocker.heldFor)}`}`
    : '';
  return holder + (blocker.ahead === undefined ? '' : `, ${blocker.ahead} ahead`);
}
