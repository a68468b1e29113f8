import type { Instant } from '../../core/port/lease.js';
import type { LockTimeoutError } from '../../core/errors/errors.js';

/** What a script granted to this client. */
export interface Granted {
  /** Of several shared holds, the last one's. */
  readonly token: number;
  /** ms of the lease, counted from the grant. */
  readonly left: number;
  /** Of a plain hold, its request and the neighbours that may have their turns after it; else those that hold the lock now. */
  readonly sequences: readonly number[];
}

/** A reply about one lock (scripts/includes/reply.lua). */
export interface Reply {
  /** When the command was sent that is answered. */
  readonly sentAt: Instant;
  /** The token that the lock gave last. */
  readonly token: number;
  /** In how many ms a request in line should ask again; undefined: there is no reason to. */
  readonly again: number | undefined;
  /** Whether also a client without requests should ask then, for those of others. */
  readonly isUrgent: boolean;
  readonly granted: Granted | undefined;
  /** The answer for each request that the command named, split into words. */
  readonly answers: readonly (readonly string[])[];
}

/** @throws Error for anything else than a reply of the scripts */
export function readReply(raw: unknown, sentAt: Instant): Reply {
  if (!Array.isArray(raw) || raw.length < 3) throw new Error(`PROTOCOL unexpected reply ${String(raw)}`);
  const [token, again = '', granted, ...answers] = raw as string[];
  const isUrgent = again.startsWith('!');
  return {
    sentAt,
    token: Number(token),
    again: again === '' ? undefined : Number(again.slice(isUrgent ? 1 : 0)),
    isUrgent,
    granted: granted === '' ? undefined : readGranted(granted!),
    answers: answers.map((answer) => answer.split(' ')),
  };
}

/** Reads `<token> <ms> <sequence>,…`. */
function readGranted(text: string): Granted {
  const [token, left, sequences = ''] = text.split(' ');
  return { token: Number(token), left: Number(left), sequences: sequences.split(',').map(Number) };
}

/**
 * Reads what blocks a lock: `<used> <limit> <held for> <kept for> <who>`.
 *
 * @param place `line <how many are ahead>`
 */
export function readBlocker(
  place: readonly string[],
  words: readonly string[],
): LockTimeoutError['blockedBy'] {
  const ahead = place[0] === 'line' ? { ahead: Number(place[1]) } : {};
  if (words.length < 5) return ahead;
  const [used = 0, limit = 0, heldFor, keptFor = 0] = words.slice(0, 4).map(Number);
  const holder = words.slice(4).join(' ');
  if (keptFor > 0) return { ...ahead, holder, keptFor };
  return { ...ahead, holder, heldFor, ...(limit > 0 && { used, limit }) };
}

/** A hold that Redis has ended: by force, or since its lease had expired. */
export interface Ended {
  readonly sequence: number;
  readonly token: number;
  readonly by: 'force' | 'time';
}

/** A message to this client. */
export type Message =
  /** A grant, or the reminder of one (rule 8). */
  | { readonly kind: 'granted'; readonly hash: string; readonly granted: Granted }
  | { readonly kind: 'ended'; readonly hash: string; readonly ended: Ended }
  /** The lock is kept for `left` ms more, and this client, whose request is the head, asks then. */
  | { readonly kind: 'ask'; readonly hash: string; readonly left: number }
  /** The lock may be free sooner than this client was told. */
  | { readonly kind: 'look'; readonly hash: string };

/** The name of the hash comes last: it begins with the key prefix, which may contain spaces. Undefined for any other text. */
export function readMessage(text: string): Message | undefined {
  const [, granted, byMessage = ''] = /^(?:granted|held) (\d{1,16} \d{1,16} [\d,]+) (.*)$/s.exec(text) ?? [];
  if (granted !== undefined) return { kind: 'granted', hash: byMessage, granted: readGranted(granted) };
  const [, kind, sequence, token, ofEnded = ''] =
    /^(lost|expired) (\d{1,16}) (\d{1,16}) (.*)$/s.exec(text) ?? [];
  if (kind !== undefined) {
    const by = kind === 'lost' ? 'force' : 'time';
    return { kind: 'ended', hash: ofEnded, ended: { sequence: Number(sequence), token: Number(token), by } };
  }
  const [, left, ofKept = ''] = /^ask (\d{1,16}) (.*)$/s.exec(text) ?? [];
  if (left !== undefined) return { kind: 'ask', hash: ofKept, left: Number(left) };
  const [, look] = /^look (.*)$/s.exec(text) ?? [];
  return look === undefined ? undefined : { kind: 'look', hash: look };
}
