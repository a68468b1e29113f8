import type { Holds } from '../holds/holds.js';
import type { CheckedOptions } from '../options/acquire-options.js';
import { weightOf } from '../port/admission.js';
import type { Waits } from '../waits/waits.js';
import { sharedByAllCopies } from '../runtime/shared-by-all-copies.js';

/** The waits and holds of one lock name (see `WaitDescription.lock`) in one engine. */
export interface LockLoad {
  waiting: number;
  held: number;
  /** Milliseconds since the oldest waiting request was made; followers of a leader do not count. */
  oldestWait: number;
  /** Milliseconds since the oldest hold began that still lasts; the term of a leader does not count. */
  oldestHold: number;
}

export function newLoad(): LockLoad {
  return { waiting: 0, held: 0, oldestWait: 0, oldestHold: 0 };
}

/** An engine as exporters see it. */
export interface ObservableEngine {
  /** Adds its own waits and holds to `total`, by lock name. Looks at each of them. */
  addLoad(total: Map<string, LockLoad>): void;
}

/** The engines of this process that are started and not closed. */
export const engines = sharedByAllCopies('nestjs-fair-lock:engines:1', () => new Set<ObservableEngine>());

/** Adds the waits and holds of one engine to `total`, by the name under which metrics count the lock. */
export function addLoad(total: Map<string, LockLoad>, waits: Waits, holds: Holds): void {
  const loadOf = ({ lock }: CheckedOptions): LockLoad => {
    let load = total.get(lock);
    if (!load) total.set(lock, (load = newLoad()));
    return load;
  };
  const time = performance.now();
  for (const { options, grant, share, since } of holds.present()) {
    const load = loadOf(options);
    if (grant.lease.state !== 'lost') load.held += weightOf(share);
    if (!options.lasting) load.oldestHold = Math.max(load.oldestHold, time - since);
  }
  for (const { options, wait } of waits.present()) {
    const load = loadOf(options);
    load.waiting += 1;
    if (!options.lasting) load.oldestWait = Math.max(load.oldestWait, time - wait.since);
  }
}

/** The sums over all engines of this process, for lock names that have waits or holds. */
export function totalLoad(): Map<string, LockLoad> {
  const total = new Map<string, LockLoad>();
  for (const engine of engines) engine.addLoad(total);
  return total;
}
