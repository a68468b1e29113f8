/** The errors of requests that leave their queue without the lock. */

import { FairLockError } from './fair-lock-error.js';
import { duration, printable, quote, withWholeFigures } from './text.js';

/** What blocked a request when its wait ended, as far as is known. */
interface Blocker {
  /** The holder, as `host/pid/label`; of several, the one that has held longest. */
  holder?: string;
  /** Milliseconds for which it has held. */
  heldFor?: number | undefined;
  /** How many requests were in front of it in the queue. */
  ahead?: number;
  /** The keys that the caller itself held meanwhile. */
  inside?: readonly string[];
  /** Of a lock with permits: how many were taken, and how many there are. */
  used?: number;
  limit?: number;
  /** Milliseconds until its lease ends, if its process is gone. */
  leaseLeft?: number;
  /** Milliseconds of the wait in which the store did not serve. */
  awayFor?: number;
  /** Milliseconds for which this very process has held it by `acquire`, if it is the holder. */
  heldHereFor?: number | undefined;
  /** Milliseconds for which the lock is still kept: it has no holder, but the `holdAtLeast` of `holder` has not elapsed. */
  keptFor?: number;
}

/** `waitTime` elapsed, or a try found the lock busy. The request has left the queue and will not get the lock. */
export class LockTimeoutError extends FairLockError {
  static readonly code = 'WAIT_TIMEOUT';
  readonly code = LockTimeoutError.code;
  /** What blocked the request when its wait ended, as far as is known. */
  readonly blockedBy: Readonly<Blocker>;
  constructor(
    readonly key: string,
    /** Milliseconds that the caller was willing to wait. */
    readonly waitTime: number,
    blockedBy: Readonly<Blocker> = {},
  ) {
    super({
      message:
        waitTime === 0 ? 'The lock is busy.' : `The lock was not granted within ${Math.round(waitTime)} ms.`,
      details:
        waitTime === 0
          ? `The lock ${quote(key)} is busy${describeBlocker(blockedBy)}.`
          : `Gave up waiting for the lock ${quote(key)} after ${duration(waitTime)}${describeBlocker(blockedBy)}. ` +
            `The call has left the queue. ${adviseOnWait(waitTime, blockedBy)}`,
      page: 'troubleshooting#calls-give-up-423',
      status: 423,
      retryAfter: Math.max(1, Math.ceil((blockedBy.keptFor ?? 0) / 1_000)),
    });
    this.blockedBy = withWholeFigures(blockedBy);
  }
}

/** Why a wait ends when the client of its request goes away: the `cause` of its LockAbortedError. */
export class ClientGoneError extends Error {
  constructor() {
    super('The client went away before it got a response.');
    this.name = new.target.name;
  }
}

/** Why the wait of a handler ends when its request has been answered without it: the `cause` of its LockAbortedError. */
export class RequestAnsweredError extends Error {
  constructor() {
    super('The request was answered before its handler began, for example by a timeout.');
    this.name = new.target.name;
  }
}

/**
 * The caller's signal aborted while the request was in the queue, or the client of the request went away, or the request was answered
 * without its handler; `cause` is the reason of the signal, or says which of them. 499 if the client that gets it has gone, else 503.
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
      details: `${whyAborted(quote(key), reason)} The call has left the queue.`,
      status: 503,
      retryAfter: 1,
      cause: reason,
    });
  }
}

function whyAborted(key: string, reason: unknown): string {
  if (reason instanceof ClientGoneError)
    return `The client went away while its request waited for the lock ${key}.`;
  if (reason instanceof RequestAnsweredError)
    return `The request was answered while it waited for the lock ${key}, for example by a timeout.`;
  return `The wait for the lock ${key} was aborted by the caller.`;
}

/** The error of a request whose signal has aborted. A FairLockError given as the reason is used as it is. */
export function abortError(key: string, reason: unknown): FairLockError {
  return reason instanceof FairLockError ? reason : new LockAbortedError(key, reason);
}

/** As many requests are waiting for this lock as `maxQueue` allows; this one did not join the queue. */
export class LockQueueFullError extends FairLockError {
  static readonly code = 'QUEUE_FULL';
  readonly code = LockQueueFullError.code;
  constructor(
    readonly key: string,
    readonly maxQueue: number,
  ) {
    super({
      message: 'Too many requests are already waiting for the lock.',
      details:
        `The queue for the lock ${quote(key)} is full: maxQueue is ${maxQueue}, and at least as many requests are already waiting. ` +
        'Try again later, or raise maxQueue.',
      page: 'troubleshooting#responses-with-503-a-full-queue',
      status: 503,
      retryAfter: 1,
    });
  }
}

function describeBlocker(blocker: LockTimeoutError['blockedBy']): string {
  return describeHolder(blocker) + (blocker.ahead === undefined ? '' : `, ${blocker.ahead} ahead`);
}

function describeHolder({ holder, heldFor, keptFor, used, limit }: LockTimeoutError['blockedBy']): string {
  if (keptFor !== undefined) {
    const by = holder ? `: ${printable(holder)} held it last, with holdAtLeast` : '';
    return `, kept for another ${duration(keptFor)}${by}`;
  }
  const taken = limit === undefined ? '' : `: ${used} of ${limit} permits ${used === 1 ? 'is' : 'are'} taken`;
  if (!holder) return taken;
  const since = heldFor === undefined ? '' : ` for ${duration(heldFor)}`;
  return `${taken}, ${taken ? 'the longest' : 'held'} by ${printable(holder)}${since}`;
}

function adviseOnWait(
  waitTime: number,
  { heldFor = Infinity, heldHereFor, inside, keptFor, leaseLeft, awayFor }: LockTimeoutError['blockedBy'],
): string {
  if (keptFor !== undefined) return 'Raise waitTime, or lower holdAtLeast.';
  if (awayFor !== undefined)
    return `Redis did not serve locks for ${duration(awayFor)} of that time, and nobody got the lock meanwhile.`;
  if (leaseLeft !== undefined)
    return (
      `The process of the holder is gone (crashed, or stopped without app.enableShutdownHooks()); its lease ends in ${duration(leaseLeft)}. ` +
      'If this happens at each deployment, enable the hooks, or give them more time; otherwise raise waitTime.'
    );
  // Whoever holds it came while the call waited, and has not blocked it for most of that time.
  if (heldFor < waitTime / 2)
    return 'The lock was handed on meanwhile: more calls ask for it than it can serve. Use finer keys, do less under the lock, or set maxQueue.';
  if (inside !== undefined)
    return (
      `This call holds ${inside.map(quote).join(', ')}. If the holder waits for that, the two are deadlocked: ask for both keys in one call. ` +
      'Otherwise the holder may be slow, stuck or dead.'
    );
  if (heldHereFor === undefined) return 'The holder may be slow, stuck or dead.';
  return (
    `This process already holds it (for ${duration(heldHereFor)}), so the caller may be waiting for itself. That happens after acquire(), or ` +
    'while reading a locked iterator or Observable. Use withLock(), or wrap the code in lock.run(). Otherwise the holder may be slow or stuck.'
  );
}
