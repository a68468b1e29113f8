import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import type { FaultKind } from './scope.js';

const RUN = fileURLToPath(new URL('../simulation/run.mjs', import.meta.url));

/** What the search of a plan found, as its process tells it. */
export interface PlanResult {
  readonly states: number;
  readonly transitions: number;
  /** Every state was visited, without a violation. */
  readonly complete: boolean;
}

/** What the searches of several plans found together. A state that several of them visit counts in each. */
export interface Sum {
  states: number;
  transitions: number;
  searches: number;
  complete: number;
}

/** Searches each plan, in as many processes as there are cores. */
export async function searchPlans(plans: readonly FaultKind[][], args: readonly string[]): Promise<Sum> {
  const sum: Sum = { states: 0, transitions: 0, searches: 0, complete: 0 };
  const left = [...plans];
  const work = async (): Promise<void> => {
    const worker = fork(RUN, ['../explore/plan-worker.ts', ...args]);
    const gone = once(worker, 'exit').then(() => undefined);
    for (let plan = left.shift(); plan; plan = left.shift()) {
      const result = await Promise.race([searchPlan(worker, plan), gone]);
      sum.searches += 1;
      // It ran out of memory, or was stopped.
      if (!result) return;
      sum.states += result.states;
      sum.transitions += result.transitions;
      if (result.complete) sum.complete += 1;
    }
    worker.disconnect();
  };
  await Promise.all(Array.from({ length: availableParallelism() }, work));
  sum.searches += left.length;
  return sum;
}

async function searchPlan(worker: ChildProcess, plan: readonly FaultKind[]): Promise<PlanResult> {
  worker.send(plan);
  const [result] = (await once(worker, 'message')) as [PlanResult];
  return result;
}
