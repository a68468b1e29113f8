import { jest } from '@jest/globals';
import type { FairLockError } from '../../../lib/core/errors/errors.js';
import type { FairLockService } from '../../../lib/core/engine/fair-lock-service.js';
import type { EngineDefaults } from '../../../lib/core/options/acquire-options.js';
import { LockEngine } from '../../../lib/core/engine/lock-engine.js';
import { follow, type Follower, unfollow } from '../../../lib/core/runtime/abort-relay.js';
import { runForClient } from '../../../lib/core/runtime/async-context.js';
import type { Grant } from '../../../lib/core/port/lock-store.js';
import type { Wait } from '../../../lib/core/port/wait.js';
import { MemoryLockStore } from '../../../lib/stores/memory/memory-lock-store.js';

/** The memory store, with a record of what the engine asked of it. */
export class RecordingStore extends MemoryLockStore {
  /** `acquire a`, `granted a`, `release a`, `close`, in the order in which they happened. */
  readonly log: string[] = [];
  /** The keys that were kept after their holds, and for how long from the grant (ms). */
  readonly kept: [string, number][] = [];
  /** The last grant of each key. */
  readonly grants = new Map<string, Grant>();

  /** How many requests reached the store. */
  get acquires(): number {
    return this.log.filter((entry) => entry.startsWith('acquire ')).length;
  }

  override async acquire(wait: Wait): Promise<Grant> {
    const { key } = wait;
    this.log.push(`acquire ${key}`);
    const grant = await super.acquire(wait);
    this.log.push(`granted ${key}`);
    const recorded: Grant = {
      key,
      token: grant.token,
      lease: grant.lease,
      waited: grant.waited,
      fix: (leaseTime) => grant.fix(leaseTime),
      release: (keep) => {
        this.log.push(`release ${key}`);
        if (keep !== undefined) this.kept.push([key, keep]);
        return grant.release(keep);
      },
    };
    this.grants.set(key, recorded);
    return recorded;
  }

  override close(): Promise<void> {
    this.log.push('close');
    return super.close();
  }

  /** As if the server had given the lock to another. */
  lose(key: string): void {
    this.grants.get(key)?.lease.lose('the test took it away');
  }

  async waiting(key: string): Promise<number> {
    return (await this.inspect(key)).queueLength;
  }

  async held(key: string): Promise<boolean> {
    return (await this.inspect(key)).holder !== undefined;
  }
}

export interface Bench {
  readonly store: RecordingStore;
  readonly engine: LockEngine;
  readonly service: FairLockService;
  readonly warnings: string[];
}

export function bench(defaults: Partial<EngineDefaults> = {}): Bench {
  const store = new RecordingStore(defaults.lease);
  const warnings: string[] = [];
  const engine = new LockEngine(store, {
    waitTime: 10_000,
    maxQueue: Infinity,
    maxHold: Infinity,
    onLost: 'signal',
    drainTimeout: Infinity,
    reentrant: true,
    onWarning: (message) => void warnings.push(message),
    ...defaults,
  });
  return { store, engine, service: engine.service, warnings };
}

/** A bench for each test of a file. When a test has ended, its engine keeps nothing. */
export function benchForEach(
  defaults: Partial<EngineDefaults> = {},
): Bench & { renew(own: Partial<EngineDefaults>): void } {
  const b = {} as Bench;
  const renew = (own: Partial<EngineDefaults>): void => {
    void (b as Partial<Bench>).engine?.close();
    Object.assign(b, bench(own));
  };
  beforeEach(() => renew(defaults));
  afterEach(async () => {
    expect(leftovers(b.engine)).toEqual(NOTHING);
    await b.engine.close();
  });
  return Object.assign(b, { renew });
}

/** What an engine still keeps: after everything has ended, nothing. */
export function leftovers(engine: LockEngine): object {
  const inside = engine as unknown as {
    holds: { all: Set<unknown> };
    shutdown: { waits: { all: Set<unknown> } };
    timers: { size: number };
  };
  return {
    holds: inside.holds.all.size,
    waits: inside.shutdown.waits.all.size,
    timed: inside.timers.size,
  };
}

export const NOTHING = { holds: 0, waits: 0, timed: 0 };

/** Runs `code` as a request whose client goes away when `gone` aborts. */
export function forClientOf<T>(gone: AbortSignal, code: () => T): T {
  const client = {
    get awaitsAnswer() {
      return !gone.aborted;
    },
    follow: (wait: Follower) => follow(gone, wait),
    unfollow: (wait: Follower) => unfollow(gone, wait),
  };
  return runForClient(client, code);
}

/** For how long the requests that reach `store` from now on may wait. */
export function recordWaitTimes(store: RecordingStore): number[] {
  const waitTimes: number[] = [];
  const acquire = store.acquire.bind(store);
  store.acquire = (wait) => {
    waitTimes.push(wait.deadline - wait.since);
    return acquire(wait);
  };
  return waitTimes;
}

/** Time is what a test says; the event loop turns as it does. */
export function fakeTime(): void {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
}

/** Lets everything happen that can happen without time passing. */
export async function settle(): Promise<void> {
  for (let round = 0; round < 3; round += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** What a promise has come to without time passing: `pending`, or its value, or its error. */
export async function outcome(promise: Promise<unknown>): Promise<unknown> {
  let result: unknown = 'pending';
  const keep = (settled: unknown): void => void (result = settled);
  promise.then(keep, keep);
  await settle();
  return result;
}

/** The error with which `promise` rejects. */
export async function rejection(promise: Promise<unknown>): Promise<FairLockError> {
  const result = await promise.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (result instanceof Error) return result as FairLockError;
  throw new Error('The promise did not reject with an Error.');
}
