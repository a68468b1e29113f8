import { OPTION_DOMAINS, type NumberDomain } from '../../../lib/core/options/option-domains.js';
import type { Random } from '../world/random.js';
import { REPLICA_FAULT_KINDS, type FaultKind } from './faults.js';
import { withFraction, type PlannedTimes, type TimeScale } from './option-values.js';

/** What a client does against the loss of writes (docs/outages.md). */
export interface Protection {
  /** strict, with its maxLease; without: as long as its lease. */
  readonly strict?: { readonly maxLease?: number };
  readonly replicas?: { readonly min: number; readonly timeout?: number };
}

/** The server's replicas, and what its clients make of them. */
export interface Replicated {
  /** Of each replica, the longest that a write usually takes to get there, ms. */
  readonly lags: readonly number[];
  /** Of each client. */
  readonly protections: readonly Protection[];
  readonly kinds: readonly FaultKind[];
}

const { most: MOST_REPLICAS }: NumberDomain = OPTION_DOMAINS['replicas.min'];
const { most: LONGEST }: NumberDomain = OPTION_DOMAINS.maxLease;

/** Share of plans in which the server has replicas; more where times are extreme, since there are few of these. */
const SHARE = 0.12;
const EXTREME_SHARE = 0.6;

/**
 * Replicas, strict mode and the faults of both; undefined: a single server, whose clients do nothing against the loss of writes.
 *
 * @param times of each client
 */
export function drawReplicated(
  random: Random,
  scale: TimeScale,
  times: readonly PlannedTimes[],
  only: readonly FaultKind[] | undefined,
): Replicated | undefined {
  const wanted = only?.filter((kind) => (REPLICA_FAULT_KINDS as readonly string[]).includes(kind)) ?? [];
  const share = scale === 'days' || scale === 'least' ? EXTREME_SHARE : SHARE;
  if (!random.chance(share) && wanted.length === 0) return undefined;
  const lags = Array.from({ length: random.int(1, 2) }, () => random.pick([0.2, 2, 2, 20, 100]));
  const strict = random.chance(0.6) ? drawStrict(random, times) : undefined;
  const min = random.chance(0.6) ? drawMin(random, lags.length) : undefined;
  // Usually all clients agree. One that is refused looks at the marker each second, which is too much for days.
  const disagrees = random.chance(0.12) ? random.int(0, times.length - 1) : -1;
  const differs = scale === 'days' ? -1 : disagrees;
  const without = random.pick(['strict', 'replicas'] as const);
  const protections = times.map((own, index) => {
    const others = index === differs ? without : undefined;
    return {
      ...(strict && others !== 'strict' && { strict }),
      ...(min !== undefined && others !== 'replicas' && { replicas: drawReplicas(random, min, own, scale) }),
    };
  });
  const kinds = only ? wanted : REPLICA_FAULT_KINDS.filter(() => random.chance(0.5));
  return { lags, protections, kinds };
}

function drawStrict(random: Random, times: readonly PlannedTimes[]): Protection['strict'] {
  const longest = Math.max(...times.map(({ lease }) => lease));
  // Without maxLease it is the lease of each client: where these differ, so does what a new primary has to wait for.
  if (random.chance(longest > Math.min(...times.map(({ lease }) => lease)) ? 0.2 : 0.5)) return {};
  if (random.chance(0.05)) return { maxLease: LONGEST };
  const factor = random.pick([1, 1, 1.5, 3]);
  return { maxLease: withFraction(random, Math.min(LONGEST, Math.ceil(longest * factor))) };
}

/** Mostly all of them: only that is enough to survive any failover. */
function drawMin(random: Random, replicas: number): number {
  const chance = random.next();
  if (chance < 0.7) return replicas;
  if (chance < 0.92) return 1;
  return random.pick([replicas + 1, MOST_REPLICAS, MOST_REPLICAS]);
}

/** The timeout has to be below the lease and the window. */
function drawReplicas(
  random: Random,
  min: number,
  { lease, window }: PlannedTimes,
  scale: TimeScale,
): { min: number; timeout?: number } {
  const longest = Math.ceil(Math.min(lease, window)) - 1;
  const chance = random.next();
  if (chance < 0.4 && scale !== 'days') return { min };
  if (chance < 0.45 || scale === 'days')
    return { min, timeout: scale === 'days' ? longest : Math.min(1, longest) };
  const timeout = Math.min(longest, random.int(100, 1_500));
  return { min, timeout: timeout - (random.chance(0.15) ? 2 / 3 : 0) };
}
