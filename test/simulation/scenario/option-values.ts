import { OPTION_DOMAINS, type NumberDomain } from '../../../lib/core/options/option-domains.js';
import type { Random } from '../world/random.js';

/** The times of one client, ms. */
export interface PlannedTimes {
  /** watchdogTimeout */
  readonly lease: number;
  /** livenessWindow */
  readonly window: number;
  readonly commandTimeout: number;
}

/**
 * How long the times of a plan are: as in most applications, though shorter; near the least that can work; minutes; the least
 * that is taken, where hardly any command is answered in time; the most that is taken.
 */
export type TimeScale = 'usual' | 'tiny' | 'minutes' | 'least' | 'days';

/** Longer than all that the store keeps by itself (a minute beyond a lease). */
const MINUTES = [60_001, 90_000, 240_000, 240_000, 600_000] as const;

const { most: MOST }: NumberDomain = OPTION_DOMAINS.watchdogTimeout;
/** Around the longest time of any option, 24.8 days. */
const DAYS = [MOST, MOST, MOST - 1, 2 ** 30] as const;
/** From the least on: a command timeout of 1 ms has to be shorter than the lease and the window. */
const LEAST = [2, 2, 3, 10, 50] as const;

/** A third of a millisecond more or less, in some cases: every time may be a fraction. */
export function withFraction(random: Random, ms: number): number {
  if (!random.chance(0.15)) return ms;
  return ms < MOST ? ms + 1 / 3 : ms - 1 / 3;
}

export function drawScale(random: Random): TimeScale {
  const chance = random.next();
  if (chance < 0.1) return 'minutes';
  if (chance < 0.15) return 'tiny';
  if (chance < 0.17) return 'least';
  return chance < 0.18 ? 'days' : 'usual';
}

/** Times that resolveOptions takes: a command is shorter than a lease and a window. */
export function drawTimes(random: Random, scale: TimeScale): PlannedTimes {
  const lease = withFraction(random, drawLease(random, scale));
  const window = random.chance(0.3) ? lease : withFraction(random, drawWindow(random, scale));
  const longest = Math.ceil(Math.min(lease, window)) - 1;
  const wanted = scale === 'days' ? MOST : random.chance(0.7) ? 1_000 : random.int(300, 1_500);
  // A fraction counts as a whole millisecond more.
  const whole = Math.min(wanted, longest);
  return { lease, window, commandTimeout: whole - (random.chance(0.15) ? 2 / 3 : 0) };
}

function drawLease(random: Random, scale: TimeScale): number {
  if (scale === 'minutes') return random.pick(MINUTES);
  if (scale === 'tiny') return random.int(300, 1_000);
  if (scale === 'least') return random.pick(LEAST);
  if (scale === 'days') return random.pick(DAYS);
  return random.chance(0.7) ? 3_000 : random.int(1_000, 5_000);
}

function drawWindow(random: Random, scale: TimeScale): number {
  if (scale === 'minutes' && random.chance(0.5)) return random.pick(MINUTES);
  if (scale === 'tiny') return random.int(300, 1_000);
  if (scale === 'least') return random.pick(LEAST);
  if (scale === 'days') return random.pick(DAYS);
  return random.chance(0.7) ? 2_000 : random.int(800, 5_000);
}

/** A fixed lease; `lease` is that of the client. */
export function drawLeaseTime(random: Random, lease: number): number {
  return withFraction(
    random,
    random.int(Math.min(200, Math.ceil(lease)), 2 * Math.min(Math.ceil(lease), 5_000)),
  );
}

/** Fixed leases of at most a few round trips, ms: whether one is long enough depends on the network. */
export const SHORT_LEASES = [0.3, 1, 2, 10, 20, 50, 100] as const;

/** A fixed lease that outlives what the store keeps by itself. */
export function drawLongLeaseTime(random: Random, scale: TimeScale): number {
  if (scale === 'days') return withFraction(random, random.pick(DAYS));
  return withFraction(random, random.chance(0.3) ? random.int(60_000, 600_000) : random.pick(MINUTES));
}

/** For how long a lock is kept that is held for `hold` ms. */
export function drawHoldAtLeast(random: Random, scale: TimeScale, hold: number, lease: number): number {
  if (random.chance(0.05)) return random.pick([0, 1 / 3, 1]);
  if (scale === 'days' && random.chance(0.2)) return withFraction(random, random.pick(DAYS));
  const longest = random.pick([2 * hold, 300, 2_000, Math.min(lease, 5_000), 1.5 * Math.min(lease, 60_000)]);
  return withFraction(random, Math.ceil(random.between(0, longest)));
}

/** How many may hold a lock at the same time: few, or any number. */
export function drawPermits(random: Random): number {
  const { most }: NumberDomain = OPTION_DOMAINS.permits;
  return random.chance(0.03) ? random.pick([most, most - 1, 100]) : random.int(1, 6);
}

/** How many of the permits a request takes. */
export function drawWeight(random: Random, permits: number): number {
  if (random.chance(0.6)) return 1;
  return random.chance(0.2) ? permits : random.int(1, permits);
}

export function drawMaxQueue(random: Random): number {
  const { most }: NumberDomain = OPTION_DOMAINS.maxQueue;
  return random.chance(0.05) ? random.pick([most, Infinity]) : random.int(0, 3);
}

/** Key prefixes of registrations, in the order of their use. The first is the default. */
const PREFIXES: readonly [string, ...string[]] = [
  'fairlock',
  'billing',
  'fairlock:client',
  'a b',
  'zażółć',
  'x*[a-z]?',
  'tab\there',
  ' lead',
  '%',
];

/** Names of locks: any text. */
const NAMES = ['a b', 'lock-0:queue', 'lock-0:clients', '', '{x}', '*', 'é€', 'line\nbreak', 'n'.repeat(700)];

/** Parts of texts that have a meaning for Redis, for Lua, for the lock or for a terminal; a prefix has no braces. */
const PIECES = [...'aZ0 :', ':client:', ...'%*?[]\\\n\0\u00e9\u{1f512}', '\ud800'];

function drawText(random: Random): string {
  return Array.from({ length: random.int(1, 6) }, () => random.pick(PIECES)).join('');
}

/** One registration in most plans, sometimes several on one server, sometimes with a prefix that is not plain. */
export function drawPrefixes(random: Random): string[] {
  const any = (): string => (random.chance(0.5) ? random.pick(PREFIXES) : drawText(random));
  const first = random.chance(0.85) ? PREFIXES[0] : any();
  const more = random.chance(0.1) ? random.int(1, 2) : 0;
  return [...new Set([first, ...Array.from({ length: more }, any)])];
}

export function drawNames(random: Random, count: number): string[] {
  const names = Array.from({ length: count }, (_, i) => `lock-${i}`);
  if (random.chance(0.15)) names[count - 1] = random.chance(0.5) ? random.pick(NAMES) : drawText(random);
  return names;
}
