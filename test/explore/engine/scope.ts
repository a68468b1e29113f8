/** How much may go wrong, and how fine the orders are. */
export interface EngineScope {
  /** Most troubles in one history. */
  readonly troubles: number;
  /** Which troubles; undefined: all. */
  readonly only: readonly TroubleKind[] | undefined;
  /** Most moves that follow another one before the promises of that have settled. */
  readonly hurried: number;
  /** How many turns of promises such a move may come after. */
  readonly turns: number;
  /** Whether leases are renewed and so run out; else they last as long as the process. */
  readonly renewed: boolean;
  /** Whether a move answers a release, so that it can come late. */
  readonly answersLate: boolean;
  /** Whether a move tells a request its place, so that it can come late. Until then its client is not watched. */
  readonly queuesLate: boolean;
}

export const PLAIN: EngineScope = {
  troubles: 1,
  only: undefined,
  hurried: 0,
  turns: 6,
  renewed: true,
  answersLate: false,
  queuesLate: false,
};

/** What ends a call in time, if nothing goes wrong. */
export const STEP_KINDS = ['start', 'grant', 'busy', 'queue', 'end', 'answer', 'pass'] as const;

export const TROUBLE_KINDS = ['throw', 'abort', 'leave', 'lose', 'fail', 'shutdown', 'close'] as const;

export type TroubleKind = (typeof TROUBLE_KINDS)[number];
export type MoveKind = (typeof STEP_KINDS)[number] | TroubleKind;

export interface Move {
  readonly kind: MoveKind;
  /** The request, if it is about one. */
  readonly request?: number;
  /** Of the grant that it is about. */
  readonly key?: string;
  /** A move that does not wait for what this one causes: it comes after `turns` of promises. */
  readonly then?: Move;
  readonly turns?: number;
}

export const isTrouble = ({ kind }: Move): boolean => (TROUBLE_KINDS as readonly MoveKind[]).includes(kind);

/** `lose 0 a ~2 close`: the close comes two turns of promises after the loss. */
export function moveText({ kind, request, key, then, turns }: Move): string {
  const next = then && `~${turns} ${moveText(then)}`;
  return [kind, request, key, next].filter((word) => word !== undefined).join(' ');
}

export function readMove(text: string): Move {
  const [first = '', turns, next] = text.split(/ ~(\d+) /);
  const [kind, request, key] = first.trim().split(/\s+/) as [MoveKind, string?, string?];
  if (![...STEP_KINDS, ...TROUBLE_KINDS].includes(kind)) throw new Error(`no such move: ${text}`);
  return {
    kind,
    ...(request !== undefined && { request: Number(request) }),
    ...(key !== undefined && { key }),
    ...(next !== undefined && { turns: Number(turns), then: readMove(next) }),
  };
}

/** What must not be. */
export class Violation extends Error {
  constructor(
    readonly invariant: string,
    text: string,
  ) {
    super(`${invariant}: ${text}`);
  }
}

export function fail(invariant: string, text: string): never {
  throw new Violation(invariant, text);
}

export function namesOf(calls: readonly { readonly index: number }[]): string {
  return calls.map(({ index }) => index).join(' and ');
}
