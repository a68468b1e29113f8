import {
  LockProtocolError,
  LockStoreUnavailableError,
  type StoreFailure,
  UnknownOutcomeError,
} from '../../../core/errors/errors.js';
import { duration } from '../../../core/errors/text.js';

/** Whether a command that failed may have taken effect. Decides between asking again freely and cleaning up. */
export type Effect = 'none' | 'unknown';

/** What can make a failed command succeed: time, an operator (who grants a right, adds memory, sets a password), or nothing. */
export type Remedy = 'time' | 'operator' | 'none';

/** A command that got no usable response. Internal: callers see `error`. */
export class CommandFailure extends Error {
  constructor(
    readonly effect: Effect,
    readonly remedy: Remedy,
    readonly error: LockStoreUnavailableError | LockProtocolError,
    /** What is wrong, in a sentence that a client may read: without keys, hosts or credentials. */
    readonly problem: string = error.message,
    /** Milliseconds after which a lock should repeat it; Infinity: when there is a connection again. Written by the connection. */
    public retryAfter = 100,
  ) {
    super(error.details);
  }

  /** Whether the same command may succeed a moment later. */
  get retriable(): boolean {
    return this.remedy === 'time';
  }

  /** Undefined: the failure has no cause in the state of the store. */
  get failure(): StoreFailure | undefined {
    return this.error instanceof LockStoreUnavailableError ? this.error.failure : undefined;
  }

  /** The same failure with an unknown effect, because an earlier copy of the command may have taken effect. */
  afterUnknown(): CommandFailure {
    if (this.effect === 'unknown') return this;
    return new CommandFailure('unknown', this.remedy, this.error, this.problem, this.retryAfter);
  }
}

/** No password where one is needed, a wrong one, or a user that does not exist or is disabled. */
const CREDENTIALS = /NOAUTH|WRONGPASS/;
const REFUSED_CREDENTIALS =
  'Redis rejects the credentials of the client: check user name and password (NOAUTH, WRONGPASS)';

const NO_CONNECTION = 'there is no connection to Redis';
const HUNG_UP = ': the server closed the connection; it might expect ';
const EXPECTED = 'TLS (rediss:// instead of redis://, or the option tls)';
const EXPECTED_OF_TLS = 'the certificate of a client (cert and key in the option tls)';
const OR_ELSE = ', have too many clients (maxclients), or be in protected mode';
const NO_TLS = 'it might not use TLS: if so, use redis:// instead of rediss://, and no option tls';
/** As OpenSSL and Node say it, where what came was no TLS, or nothing came. */
const NOT_TLS = /wrong version number|packet length too long|before secure TLS connection/;

const NOT_REDIS = 'something other than Redis responds there, perhaps an HTTP server; check host and port';
const NO_INFO =
  'it does not know INFO, which ioredis sends first; set `enableReadyCheck: false` in its options';

const NO_PRIMARY = 'no sentinel named the primary: none of them responds, or none knows that name';

/** Three forms of the error: outside a script; inside one, from Redis 7.2 on and in Valkey; inside one, up to Redis 7.0. */
const NO_RIGHT = /NOPERM|ACL failure in script|The user executing the script can't (run|access|publish)/;

/**
 * The errors of Redis and ioredis, what can mend each (`time` unless the row says otherwise), and whether the script may have taken effect. It
 * has not (`none`) if Redis did not run it, or rejected its first write. Redis 6 wraps script errors in other text, so patterns match anywhere.
 */
const KNOWN: readonly (readonly [RegExp, StoreFailure, why: string, Remedy?, Effect?])[] = [
  // These come first: one reply repeats the arguments and the other names the user, and that text could match other patterns.
  [
    /^ERR unknown command/,
    'refused',
    'the server does not know a command that the lock needs: a Sentinel (give `sentinels` and `name` instead), a proxy, or a Redis ' +
      'whose commands were renamed',
    'operator',
  ],
  [
    NO_RIGHT,
    'not-permitted',
    'the Redis user lacks a permission that the lock needs (ACL)',
    'operator',
    'unknown',
  ],
  [
    /WRONGTYPE/,
    'foreign-type',
    'a key of this lock holds a value of another type, written by something else; choose another name or keyPrefix',
    'none',
  ],
  [
    /OOM/,
    'out-of-memory',
    'Redis is out of memory and rejects new requests; held locks are still renewed and released',
    'operator',
  ],
  // A primary that was demoted says MASTERDOWN until it has reached its successor, and READONLY after that.
  [/READONLY|MASTERDOWN/, 'read-only', 'Redis is a read-only replica'],
  [/MISCONF/, 'refused', 'Redis rejects writes because it cannot persist them (MISCONF)'],
  [/NOREPLICAS/, 'refused', 'Redis rejects writes because too few replicas are connected (NOREPLICAS)'],
  [/LOADING/, 'loading', 'Redis is loading its data'],
  [/CLUSTERDOWN|TRYAGAIN|MOVED|ASK /, 'unreachable', 'the cluster does not currently serve this slot'],
  [/BUSY/, 'busy', 'Redis is busy with another script'],
  [/max number of clients/, 'unreachable', 'Redis has reached its connection limit (maxclients)'],
  [CREDENTIALS, 'wrong-credentials', REFUSED_CREDENTIALS, 'operator'],
  [/isn't writeable|Cluster isn't ready|enableOfflineQueue/, 'unreachable', NO_CONNECTION],
];

/** Turns whatever ioredis rejects with into a failure with a sentence. Never repeats arguments or credentials. */
export function toCommandFailure(cause: unknown): CommandFailure {
  if (cause instanceof CommandFailure) return cause;
  const message = cause instanceof Error ? cause.message : String(cause);
  // Scripts fail with it before they write anything; Redis 6 wraps it in other text.
  const unreadable = /PROTOCOL (.*?)(?: script: |$)/m.exec(message)?.[1];
  if (unreadable !== undefined) {
    const text =
      `The lock was neither taken nor changed: ${unreadable}. Another version of the library or another program wrote it, or this one ` +
      'received a number that Redis cannot hold. If no other version is running, forceRelease clears the lock.';
    return new CommandFailure('none', 'none', new LockProtocolError(text, plain(cause)));
  }
  const [, found, own] = /FORMAT (\d+) (\d+)/.exec(message) ?? [];
  if (found !== undefined) {
    const text =
      `The lock was neither taken nor changed: another version of the library keeps it in format ${found}, and this one uses ` +
      `format ${own}. Let all processes run the same version, or give one of them another keyPrefix; if the other version is ` +
      'gone, wait until its locks are released or their keys have expired.';
    return new CommandFailure('none', 'none', new LockProtocolError(text, plain(cause), true));
  }
  for (const [pattern, failure, why, remedy = 'time', effect = 'none'] of KNOWN) {
    if (pattern.test(message)) return unavailable(failure, effect, remedy, why, cause);
  }
  if (/^(ERR|-ERR|@user_script|user_script)/.test(message) || /script/i.test(message)) {
    const quoted = ` (${firstLine(message)})`;
    return unavailable('refused', 'unknown', 'operator', 'Redis rejected a script', cause, quoted);
  }
  const why = 'the connection to Redis broke before the response arrived';
  return unavailable('unreachable', 'unknown', 'time', why, cause);
}

/** A forced release whose answer is lost may have ended the hold. */
export function saysUnknown(cause: unknown): never {
  const failure = toCommandFailure(cause);
  if (failure.effect !== 'unknown' || !(failure.error instanceof LockStoreUnavailableError)) throw failure;
  const { reason, failure: word, cause: first } = failure.error;
  const text = `${reason} Whether the lock was taken from its holder is not known: inspect it.`;
  throw new CommandFailure('unknown', failure.remedy, new UnknownOutcomeError(word, text, first));
}

/** The failure of a client of one server that was redirected to another node. A Cluster client follows redirections itself. */
export function nodeOfCluster(cause: unknown): CommandFailure | undefined {
  if (!(cause instanceof Error) || !/^(MOVED|ASK) /.test(cause.message)) return undefined;
  const why =
    'the server is a node of a Redis Cluster, but the client knows only this server; set the option `redis` to a `Cluster` of ioredis';
  return unavailable('unreachable', 'none', 'operator', why, cause);
}

/** The failure of a connection that is rejected because of its credentials. They may be rotated, so repeating makes sense. */
export function refusedCredentials(cause: unknown): CommandFailure | undefined {
  if (!(cause instanceof Error) || !CREDENTIALS.test(cause.message)) return undefined;
  return unavailable('wrong-credentials', 'none', 'time', REFUSED_CREDENTIALS, cause);
}

/** The failure of a connection that the system, TLS, or the check of ioredis could not make. */
export function noConnection(cause: unknown, usesTls: boolean): CommandFailure | undefined {
  const trouble = networkTrouble(cause, usesTls);
  if (trouble === undefined) return undefined;
  return unavailable('unreachable', 'none', 'time', NO_CONNECTION, cause, ` (${trouble})`);
}

/** The failure of a client that has ended and will not reconnect: only a new client would. */
export function clientEnded(cause: unknown, effect: Effect): CommandFailure {
  const reason = networkTrouble(cause) ?? 'its retryStrategy gave up, or it was disconnected';
  const why = 'the ioredis client has ended and does not reconnect';
  const quoted = ` (${reason}); correct its options and restart the application`;
  return unavailable('unreachable', effect, 'operator', why, cause, quoted);
}

/** @param quoted what follows `why` for operators alone: it may name a host */
function unavailable(
  failure: StoreFailure,
  effect: Effect,
  remedy: Remedy,
  why: string,
  cause: unknown,
  quoted = '',
): CommandFailure {
  const could = 'Redis could not serve the lock: ';
  const reason = `${could}${why}${quoted}.`;
  const text = `${reason} The lock was not taken.`;
  const error = new LockStoreUnavailableError(failure, text, plain(cause), reason);
  return new CommandFailure(effect, remedy, error, `${could}${why}.`);
}

/**
 * The message of the system or TLS for a connection that cannot be made: `connect ECONNREFUSED 127.0.0.1:6379`, `self-signed
 * certificate`. What to do about it depends on whether the client uses TLS. Only errors with a code (those of Node) are quoted: others could contain more than an address.
 */
export function networkTrouble(cause: unknown, usesTls = false): string | undefined {
  // Checks fields and not the class: the error may come from another realm, as errors of Node do in jest.
  const outer = Object(cause) as NodeError;
  // For a host name with several addresses, Node gives one error for each.
  const { code, message = '' } = outer.errors?.[0] ?? outer;
  // As the parsers of ioredis 5 and 6 say it.
  if (/^(?:Protocol error, got|Unknown RESP type) /.test(message)) return NOT_REDIS;
  if (message.startsWith('All sentinels are unreachable')) return NO_PRIMARY;
  if (typeof code !== 'string') return /^ERR unknown command .info/i.test(message) ? NO_INFO : undefined;
  if (NOT_TLS.test(message)) return `${firstLine(message)}: the server did not respond by TLS; ${NO_TLS}`;
  const text = firstLine(message) || code;
  if (code !== 'EPIPE' && code !== 'ECONNRESET') return text;
  return text + HUNG_UP + (usesTls ? EXPECTED_OF_TLS : EXPECTED) + OR_ELSE;
}

interface NodeError {
  readonly code?: unknown;
  readonly message?: string;
  readonly errors?: readonly NodeError[];
}

/** Why a client that asks for TLS has no connection: a plain Redis waits for the end of a command, and says nothing. ioredis gives no cause. */
export const UNANSWERED_TLS = Object.assign(new Error(`the server does not respond to TLS; ${NO_TLS}`), {
  code: 'ETIMEDOUT',
});

/** The failure of a connection that the server has accepted, and on which it says nothing. */
export function silentServer(slow: string): CommandFailure {
  const why = `it accepts connections but does not respond; it may be stopped, overloaded, or loading its data${slow}`;
  return unavailable('timeout', 'none', 'time', why, undefined);
}

/** Of a connection whose first response took `ms`, if that is longer than a command may take. */
export function slowGreeting(ms: number, deadline: number): string {
  return ms < deadline
    ? ''
    : `; the last connection took ${duration(ms)} until its first response: if that is usual, raise commandTimeout`;
}

/**
 * No response within the deadline; the command may still run.
 *
 * @param option the one that sets the deadline
 * @param more what else is known of the connection
 */
export function commandTimeout(deadline: number, option = 'commandTimeout', more = ''): CommandFailure {
  const reason = `Redis did not respond within ${Math.round(deadline)} ms (${option})${more}.`;
  const text = `${reason} The lock was not taken. Check the connection to Redis and its load.`;
  const error = new LockStoreUnavailableError('timeout', text, undefined, reason);
  return new CommandFailure('unknown', 'time', error, reason);
}

/** ioredis attaches the command with its arguments to its errors; only the message is worth keeping. */
function plain(cause: unknown): Error | undefined {
  return cause instanceof Error ? new Error(firstLine(cause.message)) : undefined;
}

/** Without user name and password: the host may be a URL by mistake. */
function firstLine(text: string): string {
  const [line = ''] = text.split('\n', 1);
  return line.replace(/[^\s:]*:\S*@/, '…@').slice(0, 200);
}
