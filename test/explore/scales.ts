/**
 * The present on each scale of time. Every state is told as if it were now, so that situations which differ only in when they happen
 * are equal. The numbers of a scale lie so far from those of the others that a number shows what it measures.
 */
export const NOW = {
  /** Number of the last command that a client has sent. */
  order: 5_000_000,
  /** The monotonic clock of a client, ms. */
  monotonic: 40_000_000,
  /** The wall clock of a client, ms. */
  wall: 2_000_000_000_000,
  /** The clock of the server, ms. */
  server: 1_500_000_000_000,
  /** The clock of the server, µs. */
  micros: 1_500_000_000_000_900,
} as const;

const SPAN = 10_000_000;
/** The oldest tickets and tokens are told as if they were so old, ms: longer than three steps of a clock, or sleeps. */
const LONG_AGO = 200_000;
/** So far apart (µs) are two moments of one millisecond. */
const STEP = 16;
/** A client is subscribed for at least so long, where it is longer than anything that is measured, ms. */
export const LONG = 20_000;
/** No age by a clock of a client counts beyond this, ms. */
const OLDEST = 90_000;

const NUMBERS = /\d{7,}(?:\.\d+)?/g;
/** Numbers of commands. */
const ORDERS = /(?<![\d.])(?:49|50)\d{5}(?![\d.])/g;

const near = (value: number, center: number, span = SPAN): boolean => Math.abs(value - center) < span;

/** How far the clocks go on: of the server, and of a client. */
export interface Passed {
  readonly server: number;
  readonly monotonic: number;
  readonly wall: number;
}

/** Names how far the clocks go on: those of a client as far as the server's, or not at all. */
export const clockCode = ({ server, monotonic, wall }: Passed): number =>
  (server + SPAN) * 4 + (monotonic === 0 ? 0 : 2) + (wall === 0 ? 0 : 1);

/** The text as it is told when the clocks have gone on. */
export function later(text: string, { server, monotonic, wall }: Passed): string {
  return text.replace(NUMBERS, (digits) => {
    const value = Number(digits);
    if (near(value, NOW.monotonic)) return String(Math.max(value - monotonic, NOW.monotonic - OLDEST));
    if (near(value, NOW.server)) return String(value - server);
    if (near(value, NOW.wall)) return String(Math.max(value - wall, NOW.wall - OLDEST));
    if (near(value, NOW.micros, SPAN * 1_000)) return String(value - server * 1_000);
    // How far the wall clock is ahead of the monotonic one.
    if (near(value, NOW.wall - NOW.monotonic)) return String(value - wall + monotonic);
    return digits;
  });
}

/** The tickets, tokens and other times in µs in a text, each once, in order. */
export function microsIn(text: string): readonly number[] {
  const found = new Set<number>();
  for (const [digits] of text.matchAll(NUMBERS)) {
    const value = Number(digits);
    if (near(value, NOW.micros, SPAN * 1_000)) found.add(value);
  }
  return [...found].sort((a, b) => a - b);
}

/** Puts other times in µs into a text. */
export function withMicros(text: string, changed: ReadonlyMap<number, number>): string {
  return text.replace(NUMBERS, (digits) => String(changed.get(Number(digits)) ?? digits));
}

/**
 * How times in µs (all those of a state, in order) are told: only their order counts, and whether one follows another without a gap; of
 * those in `exact` also the millisecond. Undefined: as they are.
 */
export function toldMicros(
  values: readonly number[],
  exact: ReadonlySet<number>,
): ReadonlyMap<number, number> | undefined {
  let changed: Map<number, number> | undefined;
  let last = NOW.micros - LONG_AGO * 1_000;
  for (let i = 0; i < values.length;) {
    const start = i;
    do i += 1;
    while (i < values.length && values[i]! - values[i - 1]! === 1);
    const run = values.slice(start, i);
    const told = toldStart(run, last + STEP, exact);
    if (told !== run[0]!)
      for (const value of run) (changed ??= new Map<number, number>()).set(value, told + value - run[0]!);
    last = told + run.length - 1;
  }
  return changed;
}

/** Where a run of times without a gap begins, as it is told: at `next`, or later. */
function toldStart(run: readonly number[], next: number, exact: ReadonlySet<number>): number {
  const [first, end] = [run[0]!, run.at(-1)!];
  const millisecond = Math.floor(first / 1_000);
  if (Math.floor(end / 1_000) > NOW.server) return first;
  if (!run.some((value) => exact.has(value))) return next;
  // A run that crosses from one millisecond to the next keeps its place.
  return Math.max(next, Math.floor(end / 1_000) > millisecond ? first : millisecond * 1_000);
}

/** Rounds down what the clocks of a client estimate by fractions of a millisecond. */
export function withoutFractions(text: string): string {
  if (!text.includes('.')) return text;
  return text.replace(/-?\d+\.\d+(?:e-?\d+)?/g, (digits) => String(Math.floor(Number(digits))));
}

/** Tells the numbers of commands by their order, up to the last one sent. */
export function renumbered(text: string, lastOrder: number): string {
  const found = new Set<number>([lastOrder]);
  for (const [digits] of text.matchAll(ORDERS)) found.add(Number(digits));
  const values = [...found].sort((a, b) => b - a);
  const told = new Map<number, number>();
  let at: number = NOW.order + (values[0]! - lastOrder);
  for (const [i, value] of values.entries()) {
    if (i > 0) at -= Math.min(2, values[i - 1]! - value);
    told.set(value, at);
  }
  return text.replace(ORDERS, (digits) => String(told.get(Number(digits)) ?? digits));
}
