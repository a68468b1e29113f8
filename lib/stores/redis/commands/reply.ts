import { LockProtocolError } from '../../../core/errors/errors.js';
import { CommandFailure } from '../../redis-client/server/server-failure.js';
import type { Instant } from '../../../core/port/lease.js';
import type { Blocker } from '../../redis-client/view/protocol-types.js';
import type { Answered, Sent } from '../../redis-client/commands/script-commands.js';

/** The client's present grant of a lock, from a reply or a message. */
export interface PresentGrant {
  /** Sequence numbers of the batch's requests, in order. */
  readonly batch: readonly number[];
  /** Fencing token of the batch's first request; names the grant. */
  readonly first: number;
  /** Milliseconds left of the lease, counted from `since` (M1). */
  readonly left: number;
  readonly since: Instant;
}

/** A request that holds the lock together with others. */
export interface PresentShare {
  readonly sequence: number;
  /** Names the hold; higher than the numbers and tokens of all grants before. */
  readonly number: number;
  /** ms left of its fixed lease; undefined: it has the lease that the heartbeats of its client renew. */
  readonly left: number | undefined;
}

/** Shared holds of the client, from a reply or a message. */
export interface PresentShares {
  readonly list: readonly PresentShare[];
  /** Milliseconds left of the lease that is renewed, counted from `since` (M1). */
  readonly left: number;
  readonly since: Instant;
}

/** The part that every reply has. */
export interface LockReply extends Sent {
  /** The client's generation at this lock (M5); 0: it has none; -1: the script did not look. */
  readonly generation: number;
  /** Milliseconds until asking again makes sense; -1: never by itself. */
  readonly wake: number;
  /** The lock is free although requests wait: the client must ask again after `wake`, even if it does not wait itself (R8). */
  readonly mustRetry: boolean;
  readonly grant: PresentGrant | undefined;
  /** Shared holds of the client: all of them in the reply to a heartbeat, else those that it got by this command. */
  readonly shares?: PresentShares | undefined;
}

/** A reply to a command that may have been sent several times. */
export interface Repeatable {
  /** A copy of the command may still run, until its deadline (R13). */
  readonly repeated: boolean;
}

export type AcquireReply = LockReply &
  Repeatable &
  (
    | { readonly status: 'granted' }
    /** Granted and released before: the answer to a duplicate command, whose request is over (M9). */
    | { readonly status: 'done' }
    | { readonly status: 'busy'; readonly blocker: Blocker }
    | { readonly status: 'full' }
    | { readonly status: 'queued'; readonly ticket: number; readonly ahead: number }
  );

export type JoinReply = LockReply &
  Repeatable & {
    /** known: some requests were already in line or granted, so each asks by a command of its own. */
    readonly status: 'queued' | 'known';
    /** Ticket of the first; the others follow without a gap. */
    readonly ticket: number;
    /** How many will be served before the first. */
    readonly ahead: number;
  };

export type ReleaseReply = LockReply & { readonly status: 'released' | 'lost' };

export type HeartbeatReply = LockReply & {
  /** expired: nothing was written, since the deadline had passed by the server's clock (R2). */
  readonly status: 'renewed' | 'gone' | 'expired';
  /** How many connections of the server listen to this client's channel; -1: not known. */
  readonly listeners: number;
};

/** `ahead`: how many requests were ahead of it; -1: it was not in line. */
export type LeaveReply = LockReply & {
  readonly status: 'left';
  readonly blocker: Blocker;
  readonly ahead: number;
};

export type ForceReleaseReply = LockReply & { readonly status: 'forced' | 'free' };

/** A reply as the scripts write it, read once. */
export interface RawReply extends LockReply, Answered {
  /** What the header of the script calls a, b, c. */
  readonly details: readonly unknown[];
}

/**
 * The shape of every reply (scripts/includes/changes.lua). A short cut returns only the first values, as one text with spaces between
 * them.
 */
type Answer = [
  status: string,
  micros: number,
  wake: number,
  batch: string,
  first: number,
  left: number,
  mustRetry: 0 | 1,
  generation: number,
  ...details: unknown[],
];

/** How many values stand before the details. */
const COMMON = 8;
const NO_DETAILS: readonly unknown[] = [];

/** The whole reply of the short cut that does not take the time (scripts/release.lua). */
const WITHOUT_TIME = 'RELEASED';

/**
 * Reads what a script answered to the command of that order.
 *
 * @throws CommandFailure for what no script answers
 */
export function readReply(answer: unknown, order: number, sentAt: Instant): RawReply {
  if (answer === WITHOUT_TIME) return shortReply([WITHOUT_TIME], order, sentAt);
  const values: unknown = typeof answer === 'string' ? answer.split(' ') : answer;
  if (!Array.isArray(values) || !(Number(values[1]) > 0)) throw noReply();
  if (values.length < COMMON) return shortReply(values as string[], order, sentAt);
  const [status, micros, wake, batch, first, left, mustRetry, generation] = values as Answer;
  return {
    status: String(status),
    order,
    sentAt,
    serverTime: Number(micros) / 1_000,
    generation: Number(generation),
    wake: Number(wake),
    mustRetry: mustRetry === 1,
    grant: batch === '' || isShares(batch) ? undefined : presentGrant(batch, first, left, sentAt),
    shares: isShares(batch) ? { list: readShares(batch), left: Number(left), since: sentAt } : undefined,
    details: values.slice(COMMON),
  };
}

/** Reads the reply of a short cut. If it contains a grant, the time of the reply is its token, and `wake` is what is left of its lease. */
function shortReply(values: readonly string[], order: number, sentAt: Instant): RawReply {
  const [status = '', micros, wake = -1, batch] = values;
  return {
    status,
    order,
    sentAt,
    serverTime: micros === undefined ? undefined : Number(micros) / 1_000,
    generation: -1,
    wake: Number(wake),
    mustRetry: false,
    grant: batch === undefined ? undefined : presentGrant(batch, micros, wake, sentAt),
    shares: undefined,
    details: NO_DETAILS,
  };
}

/** The requests of an exclusive grant are numbers only; each shared hold is `sequence:number`. */
function isShares(batch: unknown): batch is string {
  return String(batch).includes(':');
}

/** Reads `sequence:number` of each, with `:ms` left if its lease is fixed. */
export function readShares(text: string): PresentShare[] {
  return text.split(',').map((share) => {
    const [sequence, number, left] = share.split(':').map(Number);
    return { sequence: sequence!, number: number!, left };
  });
}

function presentGrant(batch: unknown, first: unknown, left: unknown, since: Instant): PresentGrant {
  return { batch: String(batch).split(',').map(Number), first: Number(first), left: Number(left), since };
}

/** Adds the details of one command to a reply. Does not copy it: on Node 20 a copy took longer than the rest of the reading. */
function complete<const Details extends object>(reply: RawReply, details: Details): RawReply & Details {
  return Object.assign(reply, details);
}

/** @param repeated whether a copy of the command may still run */
export function readAcquire(reply: RawReply, repeated: boolean): AcquireReply {
  const [a, b, c] = reply.details;
  switch (reply.status) {
    case 'QUEUED':
      return complete(reply, { repeated, status: 'queued', ticket: Number(a), ahead: Number(b) });
    case 'BUSY':
      return complete(reply, { repeated, status: 'busy', blocker: blocker(a, b, c) });
    case 'FULL':
      return complete(reply, { repeated, status: 'full' });
    default:
      return complete(reply, { repeated, status: reply.status === 'DONE' ? 'done' : 'granted' });
  }
}

/** @param repeated as for `readAcquire` */
export function readJoin(reply: RawReply, repeated: boolean): JoinReply {
  const [ticket, ahead] = reply.details.map(Number) as [number, number];
  return complete(reply, { repeated, status: reply.status === 'QUEUED' ? 'queued' : 'known', ticket, ahead });
}

export function readRelease(reply: RawReply): ReleaseReply {
  return complete(reply, { status: reply.status === 'RELEASED' ? 'released' : 'lost' });
}

export function readHeartbeat(reply: RawReply): HeartbeatReply {
  const status = reply.status === 'RENEWED' ? 'renewed' : reply.status === 'EXPIRED' ? 'expired' : 'gone';
  return complete(reply, { status, listeners: Number(reply.details[0] ?? -1) });
}

export function readLeave(reply: RawReply): LeaveReply {
  const [holder, heldFor, ahead, keptFor] = reply.details;
  return complete(reply, {
    status: 'left',
    blocker: blocker(holder, heldFor, keptFor),
    ahead: Number(ahead),
  });
}

export function readForceRelease(reply: RawReply): ForceReleaseReply {
  return complete(reply, { status: reply.status === 'FORCED' ? 'forced' : 'free' });
}

/** The holder that blocked a request, as Redis reports it; `keptFor` where the lock is only kept after it. */
function blocker(label: unknown, heldFor: unknown, keptFor: unknown): Blocker {
  if (typeof label !== 'string' || label === '') return {};
  if (keptFor !== undefined) return { holder: label, keptFor: Number(keptFor) };
  return { holder: label, heldFor: Number(heldFor) };
}

/** The failure for an answer that no script gives. It is not read further: a wrong time would spoil the clocks of this client. */
function noReply(): CommandFailure {
  const text =
    'The lock store could not serve: something between this process and Redis gave an answer that no script of the lock gives. ' +
    'The lock was not taken. Look for a proxy that does not pass EVAL and EVALSHA on, or for a reply transformer of ioredis.';
  return new CommandFailure('unknown', 'operator', new LockProtocolError(text));
}
