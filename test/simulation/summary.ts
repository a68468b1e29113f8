import type { Campaign } from './campaign.js';

/** What a campaign found, as its closing line says it. */
export type Summary = Readonly<Record<string, number | Readonly<Record<string, number>>>>;

/** What was found, by the name of the summary. */
const NAMES: Readonly<Record<string, readonly string[]>> = {
  overlaps: ['exclusion', 'self-fence', 'rule'],
  inversions: ['order', 'dropped'],
  tokenRegressions: ['fencing'],
  lostWakeups: ['lost-wake-up'],
  leakedKeys: ['leak'],
  unhandled: ['unhandled'],
};

/** Sums of invariants that were broken, counts of what was played. */
export function summaryOf(
  first: number,
  { seeds, tally, broken, worstByFault, failures }: Campaign,
): Summary {
  const known = Object.values(NAMES).flat();
  const count = (names: Iterable<string>): number =>
    [...names].reduce((sum, name) => sum + (broken.get(name) ?? 0), 0);
  const { worstGap: _, ...counts } = tally;
  const entries = Object.entries(counts).sort(([one], [other]) => one.localeCompare(other));
  return {
    seed: first,
    seeds,
    failedSeeds: failures.length,
    ...Object.fromEntries(Object.entries(NAMES).map(([key, invariants]) => [key, count(invariants)])),
    otherViolations: count([...broken.keys()].filter((name) => !known.includes(name))),
    ...Object.fromEntries(entries),
    worstRecoveryMs: Object.fromEntries([...worstByFault].sort().map(([kind, ms]) => [kind, Math.round(ms)])),
  };
}

/** Of campaigns over neighbouring seeds, in their order. */
export function merged(summaries: readonly Summary[]): Summary {
  const total: Record<string, number | Record<string, number>> = {};
  for (const summary of summaries) {
    for (const [key, value] of Object.entries(summary)) {
      const before = total[key];
      if (typeof value !== 'number') total[key] = largest((before ?? {}) as Record<string, number>, value);
      else if (key !== 'seed' || before === undefined) total[key] = Number(before ?? 0) + value;
    }
  }
  return total;
}

function largest(
  one: Readonly<Record<string, number>>,
  other: Readonly<Record<string, number>>,
): Record<string, number> {
  const names = [...new Set([...Object.keys(one), ...Object.keys(other)])].sort();
  return Object.fromEntries(names.map((name) => [name, Math.max(one[name] ?? 0, other[name] ?? 0)]));
}
