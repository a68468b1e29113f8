import type { Value } from '../mini-redis/keyspace.js';
import type { Fault } from './faults.js';
import { inject, type FaultTargets } from './inject.js';
import type { Plan } from './plan.js';

/** How far back a lost write may reach: snapshots of the data are taken this often, ms. */
const SNAPSHOT_PERIOD = 250;

/** Makes the faults of a plan happen at their times, and ends them. */
export class FaultSchedule {
  private readonly heals = new Set<() => void>();
  private readonly snapshots: { at: number; data: Map<string, Value> }[] = [];
  private readonly targets: FaultTargets;

  constructor(
    private readonly plan: Plan,
    targets: Omit<FaultTargets, 'dataOf'>,
  ) {
    this.targets = { ...targets, dataOf: (age) => this.dataOf(age) };
  }

  begin(): void {
    const { plan, targets } = this;
    if (plan.faults.some(({ kind }) => kind === 'rollback')) this.takeSnapshots();
    for (const fault of plan.faults) targets.world.schedule(fault.at, () => this.happens(fault));
  }

  /** Ends all that has not ended by itself. */
  heal(): void {
    const { world, checker } = this.targets;
    world.trace(() => '==== everything is healed');
    for (const heal of [...this.heals]) heal();
    checker.excuses.disturbed(world.now);
  }

  private happens(fault: Fault): void {
    const { world, checker } = this.targets;
    checker.findings.tally.faults += 1;
    world.trace(() => `==== ${JSON.stringify(fault)}`);
    const heal = inject(fault, this.targets);
    checker.afterEach();
    checker.excuses.disturbed(heal ? Math.min(this.plan.safety, world.now + fault.duration) : world.now);
    if (!heal) return;
    const once = (): void => {
      if (!this.heals.delete(once)) return;
      world.trace(() => `==== end of ${fault.kind} (${fault.at.toFixed(0)})`);
      heal();
    };
    this.heals.add(once);
    world.schedule(fault.duration, once);
  }

  private takeSnapshots(): void {
    const { world, server } = this.targets;
    this.snapshots.push({ at: world.now, data: server.redis.keys.snapshot() });
    if (world.now < this.plan.safety) world.schedule(SNAPSHOT_PERIOD, () => this.takeSnapshots());
  }

  private dataOf(age: number): Map<string, Value> {
    const { world, server } = this.targets;
    const old = this.snapshots.filter(({ at }) => at <= world.now - age).pop();
    return age > 0 && old ? old.data : server.redis.keys.snapshot();
  }
}
