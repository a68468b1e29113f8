import type { Campaign } from './campaign.js';

/** What a campaign found, as its closing line says it. */
export type Summary = Readonly<Record<string, number | Readonly<Record<string, number>>>>;

/** Sums of invariants that were broken, counts of what was played. */
export function summaryOf(
  first: number,
  { seeds, tally, broken, worstByFault, failures }: Campaign,
): Summary {
  const named = {
    overlaps: ['exclusion', 'self-fence'],
    inversions: ['order'],
    tokenRegressions: ['fencing'],
    lostWakeups: ['lost-wake-up'],
    leakedKeys: ['leak'],
    unhandled: ['unhandled'],
  };
  const known = Object.values(named).flat();
  const count = (names: Iterable<string>): number =>
    [...names].reduce((sum, name) => sum + (broken.get(name) ?? 0), 0);
  return {
    grants: tally.grants,
    ...Object.fromEntries(Object.entries(named).map(([key, invariants]) => [key, count(invariants)])),
    worstRecoveryMs: Object.fromEntries([...worstByFault].sort().map(([kind, ms]) => [kind, Math.round(ms)])),
    seed: first,
    seeds,
    failedSeeds: failures.length,
    otherViolations: count([...broken.keys()].filter((name) => !known.includes(name))),
    excusedInversions: tally.excusedInversions,
    excusedOverlaps: tally.excusedOverlaps,
    faults: tally.faults,
    lost: tally.lost,
    kept: tally.kept,
    commands: tally.commands,
  };
}

/** Of campaigns over neighbouring seeds, in their order. */
export function merged(summaries: readonly Summary[]): Summary {
  const [first = {}, ...others] = summaries;
  const total: Record<string, number | Record<string, number>> = { ...first };
  for (const summary of others) {
    for (const [key, value] of Object.entries(summary)) {
      const before = total[key];
      if (key === 'seed') continue;
      if (typeof value === 'number') total[key] = Number(before ?? 0) + value;
      else total[key] = largest(before as Record<string, number>, value);
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
