import { Random } from '../world/random.js';
import { CLOCK_FAULT_KINDS, drawFaults, type FaultKind } from './faults.js';
import type { Plan } from './plan.js';

/** The stream of what the two clocks of a process do. */
const CLOCKS = 8;

/** Share of plans in which hosts are suspended. */
const SHARE = 0.25;

/** Wall clocks that drift, and hosts that are suspended; by chance of its own, so that the rest of a seed means the same as before. */
export function drawClocks(plan: Plan, only: readonly FaultKind[] | undefined): Plan {
  const random = new Random(plan.seed, CLOCKS);
  const clients = plan.clients.map((client) => ({ ...client, wallRate: 1 + random.between(-5e-5, 5e-5) }));
  const isWanted = only ? CLOCK_FAULT_KINDS.some((kind) => only.includes(kind)) : random.chance(SHARE);
  const faults = [...plan.faults, ...drawFaults(random, isWanted ? CLOCK_FAULT_KINDS : [], plan)].sort(
    (one, other) => one.at - other.at,
  );
  return { ...plan, clients, faults };
}
