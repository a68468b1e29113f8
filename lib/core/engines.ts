import { sharedByAllCopies } from './shared-by-all-copies.js';

/** How much goes on for one lock name (see `WaitDescription.lock`) in one engine. */
export interface LockLoad {
  waiting: number;
  held: number;
  /** Milliseconds since the oldest waiting request was made. */
  oldestWait: number;
}

/** An engine as exporters see it. */
export interface ObservableEngine {
  /** By lock name; only those that have waits or holds. Looks at each wait and hold. */
  load(): ReadonlyMap<string, LockLoad>;
}

/** The engines of this process that are started and not closed. */
const engines = sharedByAllCopies('nestjs-fair-lock:engines:1', () => new Set<ObservableEngine>());

export function announce(engine: ObservableEngine): void {
  engines.add(engine);
}

export function withdraw(engine: ObservableEngine): void {
  engines.delete(engine);
}

/** What all engines of this process have together. */
export function totalLoad(): Map<string, LockLoad> {
  const total = new Map<string, LockLoad>();
  for (const engine of engines) {
    for (const [lock, { waiting, held, oldestWait }] of engine.load()) {
      const sum = total.get(lock) ?? { waiting: 0, held: 0, oldestWait: 0 };
      total.set(lock, {
        waiting: sum.waiting + waiting,
        held: sum.held + held,
        oldestWait: Math.max(sum.oldestWait, oldestWait),
      });
    }
  }
  return total;
}
