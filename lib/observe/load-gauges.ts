import { newLoad, totalLoad, type LockLoad } from '../core/engine/engines.js';
import type { LockNames } from './lock-names.js';

/** The present waits and holds of this process, by lock name. A name that was seen once stays, with zeros. */
export function presentLoad(names: LockNames): Map<string, LockLoad> {
  const loads = new Map<string, LockLoad>();
  for (const [lock, { waiting, held, oldestWait, oldestHold }] of totalLoad()) {
    const name = names.of(lock);
    const sum = loads.get(name) ?? newLoad();
    loads.set(name, {
      waiting: sum.waiting + waiting,
      held: sum.held + held,
      oldestWait: Math.max(sum.oldestWait, oldestWait),
      oldestHold: Math.max(sum.oldestHold, oldestHold),
    });
  }
  for (const name of names.all()) {
    if (!loads.has(name)) loads.set(name, newLoad());
  }
  return loads;
}

/** From 1 ms to a minute, in seconds. */
export const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** Seconds between two moments in ms. */
export function seconds(from: number, to: number): number {
  return Math.max(0, to - from) / 1_000;
}
