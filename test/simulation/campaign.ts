import type { Tally, Violation } from './checker/history.js';
import { drawPlan, type Plan, type PlanLimits } from './scenario/plan.js';
import { Simulation, type Outcome } from './scenario/simulation.js';
import { ClientLoader, SMALL_LIMITS, type LoadedClient, type Mutation } from './world/load-client.js';

const MOST_CLIENTS = 4;

/** The code under test, as it is shipped and with small limits. */
export class Subject {
  private readonly slots: readonly LoadedClient[];
  private readonly smallSlots: readonly LoadedClient[];

  constructor(lib: string, mutations: readonly Mutation[] = []) {
    this.slots = load(lib, mutations);
    this.smallSlots = load(lib, [...mutations, ...SMALL_LIMITS]);
  }

  play(plan: Plan, traced = false): Promise<Outcome> {
    return new Simulation(plan, plan.smallLimits ? this.smallSlots : this.slots, traced).run();
  }
}

function load(lib: string, mutations: readonly Mutation[]): LoadedClient[] {
  const loader = new ClientLoader(lib, mutations);
  return Array.from({ length: MOST_CLIENTS }, () => loader.load());
}

export interface Failure {
  readonly plan: Plan;
  readonly violation: Violation;
}

export interface Campaign {
  /** Seeds that were played. */
  readonly seeds: number;
  readonly tally: Tally;
  /** The first violation of each failing seed, by invariant, and how many of each there were. */
  readonly failures: readonly Failure[];
  readonly broken: ReadonlyMap<string, number>;
  /** Longest time (ms) for which a lock stayed free while a request waited, in seeds with that kind of fault only. */
  readonly worstByFault: ReadonlyMap<string, number>;
}

export interface CampaignOptions {
  readonly first: number;
  readonly seeds: number;
  readonly limits?: PlanLimits;
  /** Stops after so many failing seeds. */
  readonly mostFailures?: number;
  /** Stops when this many ms of real time have passed. */
  readonly mostTime?: number;
  readonly onFailure?: (failure: Failure) => void;
}

export async function runCampaign(subject: Subject, options: CampaignOptions): Promise<Campaign> {
  const { first, seeds, limits = {}, mostFailures = Infinity, mostTime = Infinity, onFailure } = options;
  const started = performance.now();
  const failures: Failure[] = [];
  const broken = new Map<string, number>();
  const worstByFault = new Map<string, number>();
  const total: Record<string, number> = {};
  let played = 0;
  while (played < seeds && failures.length < mostFailures && performance.now() - started < mostTime) {
    const plan = drawPlan(first + played, limits);
    const { violations, tally } = await subject.play(plan);
    played += 1;
    for (const [name, value] of Object.entries(tally)) total[name] = (total[name] ?? 0) + Number(value);
    const [kind = 'none', ...others] = new Set(plan.faults.map((fault) => fault.kind));
    if (others.length === 0) worstByFault.set(kind, Math.max(worstByFault.get(kind) ?? 0, tally.worstGap));
    for (const { invariant } of violations) broken.set(invariant, (broken.get(invariant) ?? 0) + 1);
    const [violation] = violations;
    if (!violation) continue;
    failures.push({ plan, violation });
    onFailure?.({ plan, violation });
  }
  return { seeds: played, tally: total as unknown as Tally, failures, broken, worstByFault };
}
