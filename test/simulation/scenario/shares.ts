import type { Share } from '../../../lib/core/port/lock-store.js';
import { Random } from '../world/random.js';
import { drawPermits, drawWeight } from './option-values.js';
import type { Plan, PlannedRequest } from './plan.js';

/** The stream of what is shared: by chance of its own, so that the other seeds mean the same as before there were any shares. */
const SHARES = 13;
/** The share of seeds whose locks are shared, and of those in which the limits change. */
const SHARED = 0.25;
const CHANGING = 0.4;

/** Makes some requests of some plans reads and permits, and some of those come in crowds. @param always of all plans */
export function withShares(plan: Plan, always = false): Plan {
  const random = new Random(plan.seed, SHARES);
  if (!random.chance(SHARED) && !always) return plan;
  const limits = plan.names.map(() => drawPermits(random));
  const changes = random.chance(CHANGING);
  const plain = random.pick([0, 0.1, 0.3, 0.5]);
  const reads = random.pick([0, 0.5, 1]);
  const crowds = random.chance(0.2) ? 0.15 : 0;
  const share = ({ lock }: PlannedRequest): Share | undefined => {
    if (random.chance(plain)) return undefined;
    if (random.chance(reads)) return { mode: 'read' };
    const permits = changes && random.chance(0.5) ? drawPermits(random) : (limits[lock] ?? 1);
    return { mode: 'permits', permits, weight: drawWeight(random, permits) };
  };
  const flows = plan.flows.map((flow) => ({
    ...flow,
    requests: flow.requests.map((request) => ({
      ...request,
      share: share(request),
      ...(random.chance(crowds) && { burst: random.int(10, 60) }),
    })),
  }));
  return { ...plan, flows };
}
