import { AsyncResource } from 'node:async_hooks';
import type { LockEngine } from '../../../lib/core/engine/lock-engine.js';
import type * as errors from '../../../lib/core/errors/errors.js';
import type { openLocks } from '../../../lib/core/holds/lock-handle.js';
import type { Lease } from '../../../lib/core/port/lease.js';
import type { runForClient, scopeOfFlow } from '../../../lib/core/runtime/async-context.js';
import type { Mutation } from '../../simulation/world/load-client.js';
import { loadModules } from '../load-modules.js';

/** The engine as shipped, with a clock that the exploration sets. */
export interface EngineCode {
  readonly clock: Clock;
  readonly LockEngine: typeof LockEngine;
  readonly Lease: typeof Lease;
  readonly openLocks: typeof openLocks;
  readonly scopeOfFlow: typeof scopeOfFlow;
  readonly runForClient: typeof runForClient;
  readonly abortError: typeof errors.abortError;
  readonly LockTimeoutError: typeof errors.LockTimeoutError;
  readonly LockShuttingDownError: typeof errors.LockShuttingDownError;
  readonly LockStoreUnavailableError: typeof errors.LockStoreUnavailableError;
}

const PARTS = [
  'core/engine/lock-engine.ts',
  'core/errors/errors.ts',
  'core/holds/lock-handle.ts',
  'core/port/lease.ts',
  'core/runtime/async-context.ts',
];

/** Any number from here on is a time. */
export const START = 1_000_000;

/** Time that passes by moves only. */
export class Clock {
  now = START;
  private readonly timers = new Set<Timer>();

  /** Of a new history: nothing of another one is left. */
  reset(): void {
    this.now = START;
    this.timers.clear();
  }

  set(task: () => void, delay: number): Timer {
    const timer = new Timer(this.now + delay, task);
    this.timers.add(timer);
    return timer;
  }

  clear(timer: Timer | undefined): void {
    if (timer) this.timers.delete(timer);
  }

  /** Fires what is due until then, in order. */
  passTo(time: number): void {
    for (;;) {
      const [next] = [...this.timers].sort((one, other) => one.due - other.due);
      if (!next || next.due > time) break;
      this.timers.delete(next);
      this.now = Math.max(this.now, next.due);
      next.runInAsyncScope(next.task);
    }
    this.now = time;
  }
}

/** It fires in the async context in which it was set. */
class Timer extends AsyncResource {
  constructor(
    readonly due: number,
    readonly task: () => void,
  ) {
    super('Timer');
  }

  unref(): this {
    return this;
  }
}

export function loadEngine(lib: string, mutations: readonly Mutation[] = []): EngineCode {
  const clock = new Clock();
  const now = (): number => clock.now;
  const globals = {
    performance: { now },
    Date: { now },
    setTimeout: (task: () => void, delay: number) => clock.set(task, delay),
    clearTimeout: (timer: Timer | undefined) => clock.clear(timer),
  };
  return { clock, ...Object.assign({}, ...loadModules(lib, PARTS, globals, {}, mutations)) } as EngineCode;
}
