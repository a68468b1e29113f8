import type { Hold } from './held.js';
import { fitTogether, keepOf, shareOf, type Kind } from './kinds.js';
import type { Note } from './outcome.js';
import { NOW } from './scales.js';

/** The name of a request: `c0:1`. */
type Name = string;

interface Entry {
  readonly kind: Kind;
  /** Its lease is fixed, so its section may last longer. */
  readonly isFixed: boolean;
  state: 'waiting' | 'acknowledged' | 'inside';
  /** It may be passed over: `always`; `briefly`: by clients whose own subscription is steady. */
  excused: 'no' | 'briefly' | 'always';
  /** Requests that were acknowledged before this one was sent. */
  behind: Name[];
  /** For how long the server keeps the lock at least since it was granted to this request, ms. */
  keepsFor: number;
}

/** What the search remembers of the past of a state, to judge it. */
export interface Book {
  faults: number;
  cancels: number;
  /** How long after the last full tick it is, ms. */
  phase: number;
  /** For how long the lock has been of no use to a client that waits, ms. */
  gap: number;
  /** The highest token or number of any section, and of those that held the lock alone. */
  highest: number;
  highestAlone: number;
  /** The server may have forgotten grants up to this token, or ended them early. */
  loose: number;
  /** The server lost the last token; its clock was set back. */
  lost: boolean;
  setBack: boolean;
  /** The server lost the deadlines of those that wait. */
  lostDeadlines: boolean;
  /** What is kept after sections that have ended, and for how long, ms. */
  kept: { readonly kind: Kind; left: number }[];
  /** By client, of which kinds its next requests must not be. */
  readonly used: Record<string, readonly Kind[]>;
  readonly requests: Record<Name, Entry>;
}

export const EMPTY_BOOK: Book = {
  faults: 0,
  cancels: 0,
  phase: 0,
  gap: 0,
  highest: 0,
  highestAlone: 0,
  loose: 0,
  lost: false,
  setBack: false,
  lostDeadlines: false,
  kept: [],
  used: {},
  requests: {},
};

export const nameOf = (client: number, sequence: number): Name => `c${client}:${sequence}`;

/** The kind of a request that is not over. */
export const kindOf = ({ requests }: Readonly<Book>, client: number, sequence: number): Kind =>
  requests[nameOf(client, sequence)]!.kind;

export class Violation extends Error {
  constructor(
    readonly invariant: string,
    text: string,
  ) {
    super(`${invariant}: ${text}`);
  }
}

export const readBook = (text: string): Book => JSON.parse(text) as Book;

export function writeBook(book: Book): string {
  const { used, requests, ...rest } = book;
  for (const { behind } of Object.values(requests)) behind.sort();
  return JSON.stringify({ ...rest, used: inOrder(used), requests: inOrder(requests) });
}

function inOrder<Value>(record: Readonly<Record<string, Value>>): Record<string, Value> {
  return Object.fromEntries(Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/**
 * @param holds who holds the lock by the data of the server
 */
export function noted(book: Book, client: number, holds: readonly Hold[], note: Note): void {
  const { requests } = book;
  const name = nameOf(client, note.sequence);
  const entry = requests[name];
  switch (note.what) {
    case 'requested':
      requests[name] = {
        kind: note.asked.kind,
        isFixed: note.asked.leaseTime !== undefined,
        state: 'waiting',
        excused: 'no',
        behind: Object.keys(requests).filter((other) => requests[other]!.state === 'acknowledged'),
        keepsFor: 0,
      };
      return;
    case 'queued':
      if (entry?.state === 'waiting') entry.state = 'acknowledged';
      return;
    case 'granted':
      if (!entry) throw new Violation('ghost', `${name} begins, and no call waits for it`);
      granted(book, name, entry, holds);
      if (note.left <= 0) throw new Violation('dead lease', `${name} begins with a lease that is over`);
      if (note.outdated) throw new Violation('tokens', `${name} got a lower token than its client has seen`);
      judgeToken(book, name, entry.kind, note.token);
      // Tokens may have fallen since this grant, so the client may have to decline a lower one that its next request has by now.
      if (mayTokensFall(book) && note.token <= book.loose) excuse(book, client, 'always');
      return;
    case 'lost':
      if (book.faults === 0 && !entry?.isFixed)
        throw new Violation('false loss', `${name} lost the lock without a fault`);
      return;
    case 'refused':
      // A lease that its margin uses up is refused at once.
      if (book.faults === 0 && entry && note.why !== 'lease too short')
        throw new Violation('refusal', `${name} was refused without a fault`);
      forget(book, name);
      return;
    case 'left':
      forget(book, name);
      return;
    case 'ended':
      if (note.kept && entry && entry.keepsFor > 0 && note.token > book.loose)
        book.kept.push({ kind: entry.kind, left: entry.keepsFor });
      forget(book, name);
  }
}

/** What the server lost kept tokens above a clock that was set back. */
const mayTokensFall = ({ lost, setBack }: Readonly<Book>): boolean => lost && setBack;

/** Grants that hold at the same time come to their clients in any order. */
function judgeToken(book: Book, name: Name, kind: Kind, token: number): void {
  const highest = shareOf(kind) ? book.highestAlone : book.highest;
  if (token <= highest && token > book.loose && !mayTokensFall(book))
    throw new Violation('tokens', `${name} got a token that is not higher than that of an earlier section`);
  book.highest = Math.max(book.highest, token);
  if (!shareOf(kind)) book.highestAlone = Math.max(book.highestAlone, token);
}

function granted({ requests }: Book, name: Name, entry: Entry, holds: readonly Hold[]): void {
  entry.state = 'inside';
  // Several that were let in together learn of it in any order.
  const isIn = new Set(holds.map(({ client, sequence }) => nameOf(client, sequence)));
  for (const other of entry.behind) {
    const before = requests[other];
    if (before?.state !== 'acknowledged' || before.excused === 'always') continue;
    if (isIn.has(other) && fitTogether([before.kind, entry.kind])) continue;
    throw new Violation('order', `${name} was served before ${other}, acknowledged before it was sent`);
  }
  entry.behind.length = 0;
}

function forget({ requests }: Book, name: Name): void {
  delete requests[name];
  for (const { behind } of Object.values(requests)) {
    const index = behind.indexOf(name);
    if (index >= 0) behind.splice(index, 1);
  }
}

/** @param kinds of which its next requests must not be; none: it makes no more, or they may be of any */
export function uses({ used }: Book, client: number, kinds: readonly Kind[]): void {
  if (kinds.length > 0) used[`c${client}`] = kinds;
  else delete used[`c${client}`];
}

/** The kinds of which the next requests of a client must not be. */
export const usedBy = ({ used }: Readonly<Book>, client: number): readonly Kind[] => used[`c${client}`] ?? [];

export function crashed(book: Book, client: number): void {
  uses(book, client, []);
  for (const name of Object.keys(book.requests)) if (name.startsWith(`c${client}:`)) forget(book, name);
}

/** Requests of this client, or of all, may be passed over. */
export function excuse(book: Book, client: number | undefined, how: 'briefly' | 'always'): void {
  for (const [name, entry] of Object.entries(book.requests)) {
    if (client !== undefined && !name.startsWith(`c${client}:`)) continue;
    if (entry.excused !== 'always') entry.excused = how;
  }
}

/** The longest time for which a lock may be of no use to those that wait, ms: a window, and half a heartbeat. */
const LONGEST_GAP = 10_500;
/** The same without a fault: three of the pauses that a lease which its margin uses up costs. */
const LONGEST_CALM_GAP = 300;

/** @param useless whether time has passed although a client waits, none is asleep, and no section runs */
export function counted(book: Book, useless: boolean, time: number): void {
  book.gap = useless ? book.gap + time : 0;
  if (book.gap > (book.faults > 0 ? LONGEST_GAP : LONGEST_CALM_GAP))
    throw new Violation('gap', `for ${book.gap} ms the lock was of no use to those that wait`);
}

/** The server forgets, or ends early, what it has granted and kept so far. */
export function loosen(book: Book, holds: readonly Hold[]): void {
  // Tokens are ahead of a clock that was set back.
  book.loose = Math.max(NOW.micros, book.highest, ...holds.map(({ token }) => token));
  book.kept = [];
}

/** The server lets in this request of a client whose subscription is steady: it may pass those whose subscriptions broke. */
export function passes({ requests }: Book, { client, sequence }: Hold): void {
  const entry = requests[nameOf(client, sequence)];
  if (entry) entry.behind = entry.behind.filter((other) => requests[other]?.excused !== 'briefly');
}

/** The server has granted the lock to this request. */
export function keeps(book: Book, { client, sequence }: Hold, fixedLease = Infinity): void {
  const entry = book.requests[nameOf(client, sequence)];
  // If its release is lost, the lease decides.
  if (entry) entry.keepsFor = Math.min(keepOf(entry.kind) ?? 0, fixedLease);
}

/** The book, as it is told when the clock of the server has gone on. */
export function bookLater(book: Book, time: number): void {
  for (const field of ['highest', 'highestAlone', 'loose'] as const)
    if (book[field] > 0) book[field] -= time * 1_000;
  // A clock that is set back makes nothing shorter, and need not make it longer.
  if (time < 0) return;
  for (const entry of Object.values(book.requests)) entry.keepsFor = Math.max(0, entry.keepsFor - time);
  for (const one of book.kept) one.left -= time;
  book.kept = book.kept.filter(({ left }) => left > 0);
}
