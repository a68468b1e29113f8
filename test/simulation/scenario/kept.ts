import { Random } from '../world/random.js';
import { drawHoldAtLeast, type TimeScale } from './option-values.js';
import type { Plan } from './plan.js';

/** The stream of what is kept. */
const KEPT = 12;
/** The share of seeds in which locks are kept after their holds. */
const SHARE = 0.25;

/** Makes some requests of some plans keep their locks (`holdAtLeast`). @param always of all plans */
export function withKept(plan: Plan, scale: TimeScale, always = false): Plan {
  const random = new Random(plan.seed, KEPT);
  if (!random.chance(SHARE) && !always) return plan;
  const some = random.pick([0.1, 0.3, 1]);
  const flows = plan.flows.map((flow) => ({
    ...flow,
    requests: flow.requests.map((request) => {
      if (!random.chance(some)) return request;
      const holdAtLeast = drawHoldAtLeast(random, scale, request.hold, plan.lease);
      return { ...request, holdAtLeast, ...(random.chance(0.2) && { inside: true }) };
    }),
  }));
  return { ...plan, flows };
}
