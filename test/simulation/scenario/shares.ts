import type { Share } from '../../../lib/core/port/lock-store.js';
import { Random } from '../world/random.js';
import type { Plan, PlannedRequest } from './plan.js';

/** The stream of what is shared: by chance of its own, so that the other seeds mean the same as before there were any shares. */
const SHARES = 8;
/** The share of seeds whose locks are shared. */
const SHARED = 0.25;

/** Makes some requests of some plans reads and permits. All permits of a lock are of one limit, so that the checker knows the rule. */
export function withShares(plan: Plan): Plan {
  const random = new Random(plan.seed, SHARES);
  if (!random.chance(SHARED)) return plan;
  const limits = plan.names.map(() => random.int(1, 6));
  const plain = random.pick([0.1, 0.3, 0.5]);
  const reads = random.pick([0, 0.5, 1]);
  const share = ({ lock }: PlannedRequest): Share | undefined => {
    if (random.chance(plain)) return undefined;
    if (random.chance(reads)) return { mode: 'read' };
    const permits = limits[lock] ?? 1;
    return { mode: 'permits', permits, weight: random.chance(0.7) ? 1 : random.int(1, permits) };
  };
  const flows = plan.flows.map((flow) => ({
    ...flow,
    requests: flow.requests.map((request) => ({ ...request, share: share(request) })),
  }));
  return { ...plan, flows, shared: true };
}
