import type { Kind } from './kinds.js';

/** What the clients of an exploration may ask for, and how much may go wrong. */
export interface Scope {
  readonly clients: number;
  /** Requests of each client. */
  readonly requests: number;
  /** Most faults in one history. */
  readonly faults: number;
  /** Most requests that give up. */
  readonly cancels: number;
  /** A client may make its first two requests in one turn, which share a command. */
  readonly batch: boolean;
  /** The fixed lease of the last request of each client, ms; undefined: it is renewed. */
  readonly fixedLease: number | undefined;
  /** Callers act, and faults that hit nothing on its way happen, at full ticks, ms. */
  readonly tick: number;
  /** By how much the clock of the server is set, ms. */
  readonly step: number;
  /** Each request is of any of these. */
  readonly kinds: readonly Kind[];
  /** The requests of a client are of different kinds. */
  readonly distinct: boolean;
  /** What is on its way arrives before anything else happens, but for faults; else at any later time. */
  readonly swift: boolean;
  /** Which faults; undefined: all. */
  readonly only: readonly FaultKind[] | undefined;
  /** These faults and no others, each once, in any order; undefined: as `faults` and `only` say. */
  readonly plan: readonly FaultKind[] | undefined;
}

/** Two clients with a request each, and nothing that goes wrong. */
export const PLAIN: Scope = {
  clients: 2,
  requests: 1,
  faults: 0,
  cancels: 0,
  batch: true,
  fixedLease: undefined,
  // Half a heartbeat.
  tick: 1_500,
  // More than a lease.
  step: 40_000,
  kinds: ['plain'],
  distinct: false,
  swift: true,
  only: undefined,
  plan: undefined,
};

export const FAULT_KINDS = [
  'lose-command',
  'lose-reply',
  'lose-message',
  'delay-command',
  'delay-reply',
  'delay-message',
  'duplicate-command',
  'duplicate-message',
  'crash',
  'unsubscribe',
  'cut',
  'suspend',
  'freeze',
  'step-forward',
  'step-back',
  'evict',
  'flush',
] as const;

export type FaultKind = (typeof FAULT_KINDS)[number];

export const STEP_KINDS = [
  'request',
  'batch',
  'deliver',
  'reply',
  'message',
  'late',
  'due',
  'timeout',
  'end',
  'cancel',
  'wake',
  'resubscribe',
  'pass',
] as const;

export type MoveKind = (typeof STEP_KINDS)[number] | FaultKind;
export const MOVE_KINDS: readonly MoveKind[] = [...STEP_KINDS, ...FAULT_KINDS];

/** `client` is of no use for what happens to the server; `which` is a sequence, a position, a key or the kind of a request. */
export interface Move {
  readonly kind: MoveKind;
  readonly client: number;
  readonly which: number;
  readonly isFault: boolean;
  /** Names the move. */
  readonly code: number;
}

const NUMBERS = Object.fromEntries(MOVE_KINDS.map((kind, i) => [kind, i])) as Record<MoveKind, number>;
const MOVES: Move[] = [];

/** The move, of which there is one object. */
export function moveAs(kind: MoveKind, client = 0, which = 0): Move {
  const code = NUMBERS[kind] * 256 + client * 32 + which;
  const isFault = NUMBERS[kind] >= STEP_KINDS.length;
  return (MOVES[code] ??= { kind, client, which, isFault, code });
}

export const moveOf = (code: number): Move => MOVES[code]!;

export const moveText = ({ kind, client, which }: Move): string => `${kind} ${client} ${which}`;

export function readMove(text: string): Move {
  const [kind, client = '0', which = '0'] = text.trim().split(/\s+/);
  if (!MOVE_KINDS.includes(kind as MoveKind)) throw new Error(`no such move: ${text}`);
  return moveAs(kind as MoveKind, Number(client), Number(which));
}
