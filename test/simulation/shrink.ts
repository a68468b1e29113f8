import type { Subject } from './campaign.js';
import type { Plan } from './scenario/plan.js';

/** Other weather is tried for a smaller plan, because leaving something out shifts every later latency. */
const WEATHERS = 6;

/** A plan that breaks the same invariant with fewer faults and requests. */
export async function shrink(subject: Subject, plan: Plan, invariant: string): Promise<Plan> {
  const breaks = async (candidate: Plan): Promise<Plan | undefined> => {
    for (let i = 0; i < WEATHERS; i++) {
      const tried = {
        ...candidate,
        weatherSeed: i === 0 ? candidate.weatherSeed : candidate.weatherSeed + i,
      };
      const { violations } = await subject.play(tried);
      if (violations[0]?.invariant === invariant) return tried;
    }
    return undefined;
  };
  let best = plan;
  for (let smaller = true; smaller;) {
    smaller = false;
    for (const candidate of smallerPlans(best)) {
      const found = await breaks(candidate);
      if (!found) continue;
      best = found;
      smaller = true;
      break;
    }
  }
  return best;
}

/** From the largest steps to the smallest. */
function* smallerPlans(plan: Plan): Generator<Plan> {
  const { faults, flows } = plan;
  for (let size = faults.length; size >= 1; size = Math.floor(size / 2)) {
    for (let from = 0; from < faults.length; from += size) {
      yield { ...plan, faults: [...faults.slice(0, from), ...faults.slice(from + size)] };
    }
  }
  for (const left of flows) {
    if (flows.length > 1) yield { ...plan, flows: flows.filter((flow) => flow !== left) };
  }
  for (const flow of flows) {
    const { requests } = flow;
    for (let size = requests.length; size >= 1; size = Math.floor(size / 2)) {
      for (let from = 0; from < requests.length && requests.length > size; from += size) {
        const fewer = { ...flow, requests: [...requests.slice(0, from), ...requests.slice(from + size)] };
        yield { ...plan, flows: flows.map((other) => (other === flow ? fewer : other)) };
      }
    }
  }
}
