import type { Instant } from '../../core/clock.js';

/** The client's present grant of a lock, as an answer or a message tells it. */
export interface PresentGrant {
  /** Sequence numbers of the run's requests, in order. */
  readonly run: readonly number[];
  /** Fencing token of the run's first request; names the grant. */
  readonly first: number;
  /** Milliseconds left of the lease, counted from `since` (M1). */
  readonly left: number;
  readonly since: Instant;
}

export type Status =
  | 'EXPIRED'
  | 'GRANTED'
  | 'DONE'
  | 'BUSY'
  | 'FULL'
  | 'QUEUED'
  | 'KNOWN'
  | 'RELEASED'
  | 'LOST'
  | 'RENEWED'
  | 'GONE'
  | 'LEFT'
  | 'FORCED'
  | 'FREE';

/** What every script answers. */
export interface Answer {
  readonly status: Status;
  /** Position of the command among all that this client sent. */
  readonly order: number;
  readonly sentAt: Instant;
  /** Time of Redis when the script ran, ms. */
  readonly serverTime: number;
  /** The client's generation at this lock (M5); 0: it has none; -1: not looked at. */
  readonly generation: number;
  /** Milliseconds until asking again makes sense; -1: never by itself. */
  readonly wake: number;
  /** The lock is free although somebody waits: whoever hears this has to ask again then, waiting itself or not (R8). */
  readonly owed: boolean;
  readonly grant: PresentGrant | undefined;
  readonly details: readonly [unknown, unknown, unknown];
}

/** What of a grant is known before the answer, which adds the rest. */
export interface Wanted {
  readonly run: readonly number[];
  readonly first?: number;
  /** ms */
  readonly left?: number;
}

/** Reads what a script answered to the command of that order. */
export function understand(
  reply: unknown,
  order: number,
  sentAt: Instant,
  wanted: Wanted | undefined,
): Answer {
  return typeof reply === 'string'
    ? understandShort(reply, order, sentAt, wanted)
    : understandFull(reply as FullAnswer, order, sentAt);
}

type FullAnswer = [
  status: Status,
  micros: number,
  generation: number,
  wake: number,
  owed: 0 | 1,
  run: string,
  first: number,
  left: number,
  ...details: unknown[],
];

function understandFull(reply: FullAnswer, order: number, sentAt: Instant): Answer {
  const [status, micros, generation, wake, owed, run, first, left, a, b, c] = reply;
  const grant = run === '' ? undefined : { run: run.split(',').map(Number), first, left, since: sentAt };
  return newAnswer(status, order, sentAt, micros, generation, wake, owed === 1, grant, [a, b, c]);
}

/**
 * The answer in the usual case of acquire, release and heartbeat: status and time, which is also the token of a new grant;
 * then for how long the present holder may have the lock, and what a heartbeat adds.
 */
function understandShort(reply: string, order: number, sentAt: Instant, wanted: Wanted | undefined): Answer {
  const status = endOfWord(reply, 0);
  const micros = endOfWord(reply, status + 1);
  const wake = endOfWord(reply, micros + 1);
  const time = wholeNumber(reply, status + 1, micros);
  const left = micros < reply.length ? wholeNumber(reply, micros + 1, wake) : -1;
  const grant = wanted && {
    run: wanted.run,
    first: wanted.first ?? time,
    left: wanted.left ?? left,
    since: sentAt,
  };
  const detail = wake < reply.length ? reply.slice(wake + 1) : undefined;
  const word = reply.slice(0, status) as Status;
  return newAnswer(word, order, sentAt, time, -1, left, false, grant, [detail, undefined, undefined]);
}

/** Made in one place, and `generation` is no small integer at first: V8 would change the shape of every answer later else. */
function newAnswer(
  status: Status,
  order: number,
  sentAt: Instant,
  micros: number,
  generation: number,
  wake: number,
  owed: boolean,
  grant: PresentGrant | undefined,
  details: Answer['details'],
): Answer {
  const serverTime = micros / 1_000;
  const answer = { status, order, sentAt, serverTime, generation: NaN, wake, owed, grant, details };
  answer.generation = generation;
  return answer;
}

const ZERO = 48;
const MINUS = 45;

/** Not `Number`, which for 16 digits takes many times as long: this is done for every lock that is taken. */
function wholeNumber(text: string, from: number, to: number): number {
  const negative = text.charCodeAt(from) === MINUS;
  let value = 0;
  for (let i = negative ? from + 1 : from; i < to; i += 1) value = 10 * value + text.charCodeAt(i) - ZERO;
  return negative ? -value : value;
}

/** Not `split`, for the same reason. */
function endOfWord(text: string, from: number): number {
  const end = text.indexOf(' ', from);
  return end < 0 ? text.length : end;
}
