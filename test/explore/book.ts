import type { Note } from './lock-client.js';
import { NOW } from './scales.js';

/** The name of a request: `c0:1`. */
type Name = string;

interface Entry {
  state: 'waiting' | 'acknowledged' | 'inside';
  /** It may be passed over: `always`; `briefly`: by clients whose own subscription is steady. */
  excused: 'no' | 'briefly' | 'always';
  /** Requests that were acknowledged before this one was sent. */
  readonly behind: Name[];
}

/** What the search remembers of the past of a state, to judge it. */
export interface Book {
  faults: number;
  cancels: number;
  /** How long after the last full tick it is, ms. */
  phase: number;
  /** For how long the lock has been of no use to a client that waits, ms. */
  gap: number;
  /** The highest token of any section. */
  highest: number;
  /** The server may have forgotten grants up to this token, or ended them early. */
  loose: number;
  /** The server lost the last token; its clock was set back. Tokens may fall after both. */
  lost: boolean;
  setBack: boolean;
  readonly requests: Record<Name, Entry>;
}

export const EMPTY_BOOK: Book = {
  faults: 0,
  cancels: 0,
  phase: 0,
  gap: 0,
  highest: 0,
  loose: 0,
  lost: false,
  setBack: false,
  requests: {},
};

export class Violation extends Error {
  constructor(
    readonly invariant: string,
    text: string,
  ) {
    super(`${invariant}: ${text}`);
  }
}

export function writeBook(book: Book): string {
  const { requests, ...rest } = book;
  const sorted = Object.entries(requests).sort(([a], [b]) => (a < b ? -1 : 1));
  for (const [, { behind }] of sorted) behind.sort();
  return JSON.stringify({ ...rest, requests: Object.fromEntries(sorted) });
}

/** @param steady whether the subscription of this client has been up for longer than the grace */
export function noted(book: Book, client: number, steady: boolean, note: Note): void {
  const { requests } = book;
  const name = `c${client}:${note.sequence}`;
  const entry = requests[name];
  switch (note.what) {
    case 'requested':
      requests[name] = {
        state: 'waiting',
        excused: 'no',
        behind: Object.keys(requests).filter((other) => requests[other]!.state === 'acknowledged'),
      };
      return;
    case 'queued':
      if (entry?.state === 'waiting') entry.state = 'acknowledged';
      return;
    case 'granted':
      if (entry) granted(book, name, entry, steady);
      if (note.left <= 0) throw new Violation('dead lease', `${name} begins with a lease that is over`);
      if (note.token <= book.highest && note.token > book.loose && !(book.lost && book.setBack)) {
        throw new Violation(
          'tokens',
          `${name} got a token that is not higher than that of an earlier section`,
        );
      }
      book.highest = Math.max(book.highest, note.token);
      return;
    case 'lost':
      if (book.faults === 0) throw new Violation('false loss', `${name} lost the lock without a fault`);
      return;
    case 'refused':
      if (book.faults === 0 && entry) throw new Violation('refusal', `${name} was refused without a fault`);
      forget(book, name);
      return;
    case 'left':
    case 'ended':
      forget(book, name);
  }
}

function granted({ requests }: Book, name: Name, entry: Entry, steady: boolean): void {
  entry.state = 'inside';
  for (const other of entry.behind) {
    const before = requests[other];
    if (before?.state !== 'acknowledged' || before.excused === 'always') continue;
    if (before.excused === 'briefly' && steady) continue;
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

export function crashed(book: Book, client: number): void {
  for (const name of Object.keys(book.requests)) if (name.startsWith(`c${client}:`)) forget(book, name);
}

/** Requests of this client, or of all, may be passed over. */
export function excuse(book: Book, client: number | undefined, how: 'briefly' | 'always'): void {
  for (const [name, entry] of Object.entries(book.requests)) {
    if (client !== undefined && !name.startsWith(`c${client}:`)) continue;
    if (entry.excused !== 'always') entry.excused = how;
  }
}

/** The longest time for which a lock may be of no use to those that wait: a window, and half a heartbeat, ms. */
const LONGEST_GAP = 10_500;

/** @param useless whether time has passed although a client waits, none is asleep, and no section runs */
export function counted(book: Book, useless: boolean, time: number): void {
  book.gap = useless ? book.gap + time : 0;
  if (book.gap > LONGEST_GAP)
    throw new Violation('gap', `for ${book.gap} ms the lock was of no use to those that wait`);
}

/** The server forgets, or ends early, what it has granted so far. */
export function loosen(book: Book): void {
  book.loose = NOW.micros;
}
