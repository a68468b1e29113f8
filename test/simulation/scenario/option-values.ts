import { OPTION_DOMAINS, type NumberDomain } from '../../../lib/core/option-domains.js';
import type { Random } from '../world/random.js';

/** The times of one client, ms. */
export interface PlannedTimes {
  /** watchdogTimeout */
  readonly lease: number;
  /** livenessWindow */
  readonly window: number;
  readonly commandTimeout: number;
}

/** How long the times of a plan are: as in most applications, though shorter; near the least that can work; minutes. */
export type TimeScale = 'usual' | 'tiny' | 'minutes';

/** Longer than all that the store keeps by itself (a minute beyond a lease). */
const MINUTES = [60_001, 90_000, 240_000, 240_000, 600_000] as const;

/** A third of a millisecond more, in some cases: every time may be a fraction. */
export function withFraction(random: Random, ms: number): number {
  return random.chance(0.15) ? ms + 1 / 3 : ms;
}

export function drawScale(random: Random): TimeScale {
  const chance = random.next();
  return chance < 0.1 ? 'minutes' : chance < 0.15 ? 'tiny' : 'usual';
}

/** Times that resolveOptions takes: a command is shorter than a lease and a window. */
export function drawTimes(random: Random, scale: TimeScale): PlannedTimes {
  const lease = withFraction(random, drawLease(random, scale));
  const window = random.chance(0.3) ? lease : withFraction(random, drawWindow(random, scale));
  const longest = Math.ceil(Math.min(lease, window)) - 1;
  const wanted = random.chance(0.7) ? 1_000 : random.int(300, 1_500);
  return { lease, window, commandTimeout: withFraction(random, Math.min(wanted, longest - 1)) };
}

function drawLease(random: Random, scale: TimeScale): number {
  if (scale === 'minutes') return random.pick(MINUTES);
  if (scale === 'tiny') return random.int(300, 1_000);
  return random.chance(0.7) ? 3_000 : random.int(1_000, 5_000);
}

function drawWindow(random: Random, scale: TimeScale): number {
  if (scale === 'minutes' && random.chance(0.5)) return random.pick(MINUTES);
  if (scale === 'tiny') return random.int(300, 1_000);
  return random.chance(0.7) ? 2_000 : random.int(800, 5_000);
}

/** A fixed lease; `lease` is that of the client. */
export function drawLeaseTime(random: Random, lease: number): number {
  return withFraction(random, random.int(200, 2 * Math.min(Math.ceil(lease), 5_000)));
}

/** Fixed leases of at most a few round trips, ms: whether one is long enough depends on the network. */
export const SHORT_LEASES = [0.3, 1, 2, 10, 20, 50, 100] as const;

/** A fixed lease that outlives what the store keeps by itself. */
export function drawLongLeaseTime(random: Random): number {
  return withFraction(random, random.chance(0.3) ? random.int(60_000, 600_000) : random.pick(MINUTES));
}

export function drawMaxQueue(random: Random): number {
  const { most }: NumberDomain = OPTION_DOMAINS.maxQueue;
  return random.chance(0.05) ? random.pick([most, Infinity]) : random.int(0, 3);
}

/** Key prefixes of registrations, in the order of their use. The first is the default. */
const PREFIXES = [
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

/** One registration in most plans, sometimes two on one server, sometimes with a prefix that is not plain. */
export function drawPrefixes(random: Random): string[] {
  const first = random.chance(0.85) ? PREFIXES[0] : random.pick(PREFIXES);
  if (!random.chance(0.1)) return [first as string];
  return [...new Set([first as string, random.pick(PREFIXES)])];
}

export function drawNames(random: Random, count: number): string[] {
  const names = Array.from({ length: count }, (_, i) => `lock-${i}`);
  if (random.chance(0.15)) names[count - 1] = random.pick(NAMES);
  return names;
}
