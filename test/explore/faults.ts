import { FAULT_KINDS, type FaultKind, type Scope } from './scope.js';

/**
 * The number of the faults that have happened, after one more; undefined: the scope has none of this kind left. Without a plan, it is how many
 * there were; with a plan, a bit for each fault of it.
 */
export function faultsAfter(
  { faults, only, plan }: Scope,
  before: number,
  kind: FaultKind,
): number | undefined {
  if (plan) {
    const next = plan.findIndex((planned, i) => planned === kind && (before & (1 << i)) === 0);
    return next < 0 ? undefined : before | (1 << next);
  }
  return before < faults && (!only || only.includes(kind)) ? before + 1 : undefined;
}

/**
 * All plans of so many faults. Each history belongs to one of them, so searches of all plans visit what one search with so many faults visits,
 * in less memory, and on several cores.
 */
export function plansOf(faults: number, kinds: readonly FaultKind[] = FAULT_KINDS): FaultKind[][] {
  if (faults === 0) return [[]];
  return kinds.flatMap((kind, i) => plansOf(faults - 1, kinds.slice(i)).map((rest) => [kind, ...rest]));
}
