import type { Violation } from './checker/history.js';
import { drawPlan, type Plan, type PlanLimits } from './scenario/plan.js';
import { Simulation, type Outcome } from './scenario/simulation.js';
import { ClientLoader, type LoadedClient } from './world/load-client.js';

/** A campaign ends with so many failing seeds. */
const MOST_FAILURES = 5;

/** The code under test, as it is shipped and with small limits. */
export class Subject {
  private readonly slots = new Slots(false);
  private readonly smallSlots = new Slots(true);

  play(plan: Plan, traced = false): Promise<Outcome> {
    const slots = plan.smallLimits ? this.smallSlots : this.slots;
    return new Simulation(plan, slots.upTo(plan.clients.length), traced).run();
  }
}

/** Copies of the code, one for each client; made when a plan first has so many. */
class Slots {
  private readonly loader: ClientLoader;
  private readonly loaded: LoadedClient[] = [];

  constructor(small: boolean) {
    this.loader = new ClientLoader(small);
  }

  upTo(count: number): readonly LoadedClient[] {
    while (this.loaded.length < count) this.loaded.push(this.loader.load());
    return this.loaded;
  }
}

/** A seed that failed, and what it broke first. */
interface Failure {
  readonly plan: Plan;
  readonly violation: Violation;
}

/** Seeds, seeds that failed, how often each invariant was broken, and what was played. */
export type Counts = Record<string, number>;

export function add(total: Counts, more: Readonly<Counts>): void {
  for (const [name, count] of Object.entries(more)) total[name] = (total[name] ?? 0) + count;
}

export async function runCampaign(
  subject: Subject,
  first: number,
  seeds: number,
  limits: PlanLimits = {},
  onFailure?: (failure: Failure) => void,
): Promise<{ readonly counts: Counts; readonly failures: readonly Failure[] }> {
  const failures: Failure[] = [];
  const counts: Counts = { seeds: 0, failedSeeds: 0 };
  for (let seed = first; seed < first + seeds && failures.length < MOST_FAILURES; seed++) {
    const plan = drawPlan(seed, limits);
    const { violations, tally } = await subject.play(plan);
    add(counts, { ...tally, seeds: 1 });
    for (const { invariant } of violations) add(counts, { [`broken: ${invariant}`]: 1 });
    const [violation] = violations;
    if (!violation) continue;
    add(counts, { failedSeeds: 1 });
    failures.push({ plan, violation });
    onFailure?.({ plan, violation });
  }
  return { counts, failures };
}
