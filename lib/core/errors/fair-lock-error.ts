import { withPage, type Page } from './pages.js';

/** The machine-readable code of an error. */
export type FairLockErrorCode =
  | 'WAIT_TIMEOUT'
  | 'ABORTED'
  | 'QUEUE_FULL'
  | 'LOST'
  | 'NOT_HELD'
  | 'HOLDER_CHANGED'
  | 'DEADLOCK'
  | 'KEY'
  | 'STORE_UNAVAILABLE'
  | 'NOT_REPLICATED'
  | 'PROTOCOL'
  | 'CONFIGURATION'
  | 'SHUTTING_DOWN';

/** The part of an error that clients may see: the body of an HTTP response, `extensions` of a GraphQL error. */
export interface FairLockErrorBody {
  /**
   * As in HTTP: 400 a request without a usable key, 409 `forceRelease` found another holder, 423 not granted in time, 499 the client
   * has gone, 500 a bug or a lost lock, 503 queue full, aborted, shutting down, no store or too few replicas.
   */
  readonly statusCode: number;
  readonly code: FairLockErrorCode;
  /** A sentence without any key, host or process. */
  readonly message: string;
  /** How many seconds a client should wait before it tries again. */
  readonly retryAfter?: number;
}

/** The same symbol in every copy of this package that a process loads. */
const BRAND = Symbol.for('nestjs-fair-lock:error');

/** What distinguishes one error from another. */
interface ErrorFields {
  /** For a client. */
  readonly message: string;
  /** For an operator. */
  readonly details: string;
  /** The page that `details` leads to; none where the sentence says all. */
  readonly page?: Page;
  /** Of HTTP. */
  readonly status: number;
  readonly retryAfter?: number;
  readonly cause?: unknown;
}

/**
 * Base of every error this library throws.
 *
 * A plain Error with the fields of the http-errors convention (`status`, `statusCode`, `expose`), which Nest's own
 * exception filter understands, and with `extensions`, which GraphQL servers pass on; services stay free of HTTP classes.
 *
 * Servers can send `message` to clients, so it names no key, host or process. `details` names them, and other fields may (`key`,
 * `blockedBy`): loggers that inspect an error show them, `JSON.stringify` does not.
 *
 * `instanceof` is also true for an error of another copy of this package in the same process (ESM and CommonJS).
 */
export abstract class FairLockError extends Error {
  abstract readonly code: FairLockErrorCode;
  /** What happened, what it means, what to do and where to read on, with all names: for logs, not for clients. */
  readonly details: string;
  /** The HTTP status that fits, e.g. 423 Locked. */
  readonly status: number;
  /** Same as `status`; Nest requires both. */
  readonly statusCode: number;
  /** Whether servers should send `message` to the client, rather than the name of the status. */
  readonly expose: boolean;
  /** How many seconds a client should wait before it tries again, for a Retry-After header. */
  readonly retryAfter: number | undefined;

  /** @internal */
  protected constructor({ message, details, page, status, retryAfter, cause }: ErrorFields) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = new.target.name;
    this.details = page ? withPage(details, page) : details;
    this.status = this.statusCode = status;
    // A client can do nothing about a bug or a lost lock.
    this.expose = status !== 500;
    this.retryAfter = retryAfter;
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    if (Function.prototype[Symbol.hasInstance].call(this, value)) return true;
    if (typeof value !== 'object' || value === null || !(BRAND in value)) return false;
    // An error of another copy of this package: compare by code. A class that an application derived does not define `code`, so it
    // matches no such error.
    if (this === FairLockError) return true;
    const { code } = value as { readonly code?: unknown };
    return Object.hasOwn(this, 'code') && (this as { readonly code?: unknown }).code === code;
  }

  /** @internal Marks the errors of every copy of this package. */
  get [BRAND](): true {
    return true;
  }

  /** For logs: with all names, as `details`. */
  override toString(): string {
    return `${this.name}: ${this.details}`;
  }

  /** What GraphQL servers send besides the message. */
  get extensions(): Omit<FairLockErrorBody, 'message'> {
    const { message: _, ...others } = this.toJSON();
    return others;
  }

  /** The part that clients may see. */
  toJSON(): FairLockErrorBody {
    const { code, status, message, retryAfter } = this;
    return { statusCode: status, code, message, ...(retryAfter !== undefined && { retryAfter }) };
  }
}
