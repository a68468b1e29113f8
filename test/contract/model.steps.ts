import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import {
  LockAbortedError,
  LockLostError,
  LockQueueFullError,
  LockTimeoutError,
} from '../../lib/core/errors/errors.js';
import { type Grant, type LockStore } from '../../lib/core/port/lock-store.js';
import { wholeNumber } from '../../lib/core/options/option-domains.js';
import { valuesOf } from '../support/option-values.js';
import { eventually, SOON } from '../support/waiting.js';
import { TestRequest, type TestRequestOptions, type Bench } from './store-under-test.js';
import { type Reference, type ReferenceLock } from './model.js';

/** The store under test, beside one lock of the reference. */
export class Subject {
  private readonly asks = new Map<string, TestRequest>();
  private readonly grants: Grant[] = [];
  private sequence = 0;

  constructor(
    readonly bench: Bench,
    readonly key: string,
  ) {}

  /** Asks as a new request. */
  ask(client: LockStore, options: TestRequestOptions = {}): [name: string, ask: TestRequest] {
    const name = `request ${(this.sequence += 1)}`;
    const ask = this.bench.ask(client, this.key, { ...options, label: name });
    this.asks.set(name, ask);
    return [name, ask];
  }

  of(name: string | undefined): TestRequest {
    const ask = this.asks.get(name ?? '');
    if (!ask) throw new Error(`${name} never asked.`);
    return ask;
  }

  hasFixedLease(name: string | undefined): boolean {
    return this.of(name).options.leaseTime !== undefined;
  }

  /** Waits until `name` has the lock; its token is the highest so far. */
  async expectGranted(name: string | undefined): Promise<void> {
    if (name === undefined) return;
    const grant = await this.of(name).granted();
    expect(grant.lease.state).toBe('held');
    const last = this.grants.at(-1);
    if (this.bench.capabilities.fencing && last) expect(grant.token).toBeGreaterThan(last.token ?? Infinity);
    this.grants.push(grant);
  }

  /**
   * Neighbours of one client that were granted together with a hold that was ended by force ask for their places again, and one that stood
   * behind them may be served first.
   */
  async letOneOvertake(lock: ReferenceLock): Promise<void> {
    const { holder, line } = lock;
    if (holder === undefined) return;
    const isServed = (name: string): boolean => this.of(name).outcome === 'granted';
    await eventually(() => [holder, ...line].some(isServed), SOON, 'one of the line to be served');
    const served = [holder, ...line].find(isServed)!;
    if (served !== holder) lock.overtake(served);
  }

  /** The present grant, if the lock is held at all. */
  get present(): Grant {
    const grant = this.grants.at(-1);
    if (!grant) throw new Error('The lock has not been held yet.');
    return grant;
  }

  get past(): readonly Grant[] {
    return this.grants.slice(0, -1);
  }

  /** What the store shows is what the reference has, or soon will be: a grant that came too late is still on its way back. */
  async expectLike(lock: ReferenceLock, client: LockStore): Promise<void> {
    for (const name of lock.line) expect(this.of(name).outcome).toBe('queued');
    if (lock.holder !== undefined) expect(this.present.lease.state).toBe('held');

    const { runs, waiterLabels } = this.bench.capabilities;
    const expected = {
      held: lock.holder !== undefined,
      ...(!runs && { holder: lock.holder, length: lock.line.length }),
      ...(!runs && waiterLabels && { line: lock.line }),
    };
    const shown = async (): Promise<object> => {
      const { holder, waiters, queueLength } = await this.bench.inspect(client, this.key);
      return {
        held: holder !== undefined,
        ...(!runs && { holder: holder && labelOf(holder), length: queueLength }),
        ...(!runs && waiterLabels && { line: waiters.map(labelOf) }),
      };
    };
    await eventually(
      async () => isDeepStrictEqual(await shown(), expected),
      SOON,
      `inspect to show ${JSON.stringify(expected)}`,
    );
  }
}

/** `host/pid/label` without what comes before the label. */
function labelOf({ who }: { readonly who: string }): string {
  return who.replace(/^[^/]*\/[^/]*\//, '');
}

interface Scene {
  readonly lock: ReferenceLock;
  readonly subject: Subject;
  readonly client: LockStore;
  /** Any number, for a step that has to choose. */
  readonly choice: number;
  /** What a request says that is to be served. */
  readonly options: TestRequestOptions;
}

/** What can happen to a lock. Each step does it to the store and to the reference, and compares what the store answers. */
const STEPS = {
  async ask({ lock, subject, client, options }) {
    const [name, ask] = subject.ask(client, options);
    const expected = lock.ask(name);
    if (expected === 'granted') await subject.expectGranted(name);
    else if (subject.bench.capabilities.runs) expect(await ask.queued()).toBeGreaterThanOrEqual(expected);
    else expect(await ask.queued()).toBe(expected);
  },

  async try({ lock, subject, client }) {
    const [name, ask] = subject.ask(client, { waitTime: 0 });
    if (lock.holder !== undefined) return expect(await ask.refused()).toBeInstanceOf(LockTimeoutError);
    lock.ask(name);
    await subject.expectGranted(name);
  },

  async askAtFullLine({ lock, subject, client }) {
    if (lock.holder === undefined || subject.bench.capabilities.runs) return;
    const [, ask] = subject.ask(client, { maxQueue: lock.line.length });
    expect(await ask.refused()).toBeInstanceOf(LockQueueFullError);
  },

  async askForMoment({ lock, subject, client }) {
    if (lock.holder === undefined) return;
    const [, ask] = subject.ask(client, { waitTime: 2 });
    expect(await ask.refused()).toBeInstanceOf(LockTimeoutError);
  },

  async release({ lock, subject }) {
    if (lock.holder === undefined) return;
    const { present } = subject;
    lock.end();
    await present.release();
    await subject.expectGranted(lock.holder);
    expect(present.lease.state).toBe('released');
  },

  async releaseAgain({ subject, choice }) {
    await subject.past[choice % subject.past.length]?.release();
  },

  async force({ lock, subject, client }) {
    const held = lock.holder !== undefined;
    expect(await client.forceRelease(subject.key)).toBe(held);
    if (!held) return;
    const { present } = subject;
    const { lease } = present;
    const isNotified = subject.bench.capabilities.fixedLeasesLearn || !subject.hasFixedLease(lock.holder);
    lock.end();
    if (!isNotified) {
      await subject.expectGranted(lock.holder);
      return present.release();
    }
    await eventually(() => lease.state === 'lost', SOON, 'the holder to be told');
    expect(lease.lostError).toBeInstanceOf(LockLostError);
    if (subject.bench.capabilities.runs) await subject.letOneOvertake(lock);
    await subject.expectGranted(lock.holder);
  },

  async abort({ lock, subject, choice }) {
    const name = lock.line[choice % lock.line.length];
    if (name === undefined) return;
    lock.leave(name);
    subject.of(name).abort();
    expect(await subject.of(name).refused()).toBeInstanceOf(LockAbortedError);
  },

  async abortHolder({ lock, subject }) {
    if (lock.holder !== undefined) subject.of(lock.holder).abort();
  },

  /** The first in line aborts while the lock is handed to it: whichever wins, the line moves on by one. */
  async releaseAndAbortNext({ lock, subject, choice }) {
    const [next] = lock.line;
    if (next === undefined) return;
    lock.end();
    const released = subject.present.release();
    for (let i = choice % 20; i > 0; i -= 1) await new Promise(setImmediate);
    subject.of(next).abort();
    const result = await subject.of(next).settled();
    await released;
    if (result.status === 'rejected') lock.end();
    await subject.expectGranted(lock.holder);
  },
} satisfies Record<string, (scene: Scene) => Promise<void>>;

export type StepName = keyof typeof STEPS;

/** One step on one lock by one client, for fast-check to put in sequence and to shrink. */
class Step implements fc.AsyncCommand<Reference, readonly Subject[]> {
  constructor(
    private readonly name: StepName,
    private readonly lockNumber: number,
    private readonly clientNumber: number,
    private readonly choice: number,
    private readonly options: TestRequestOptions,
  ) {}

  check(): boolean {
    return true; // a step that does not apply does nothing
  }

  async run(model: Reference, subjects: readonly Subject[]): Promise<void> {
    const [subject, lock] = [subjects[this.lockNumber], model.locks[this.lockNumber]];
    if (!subject || !lock) throw new Error('A lock without a subject.');
    const client = subject.bench.client(this.clientNumber);
    await STEPS[this.name]({ lock, subject, client, choice: this.choice, options: this.options });
    await subject.expectLike(lock, client);
  }

  toString(): string {
    return `${this.name}(lock ${this.lockNumber}, client ${this.clientNumber}, ${this.choice}, ${JSON.stringify(this.options)})`;
  }
}

/** Long waits and fixed leases up to the longest that there are; those that could end during the test are left out. */
export function patientOptions(): fc.Arbitrary<TestRequestOptions> {
  const long = (option: 'waitTime' | 'leaseTime'): fc.Arbitrary<number> =>
    valuesOf(option)
      .filter((ms) => ms > 60_000)
      .map((ms) => wholeNumber(option, ms) ?? ms);
  return fc.record({ waitTime: long('waitTime'), leaseTime: long('leaseTime') }, { requiredKeys: [] });
}

/** One of so many locks. The first two are more frequent, or there would seldom be a line. */
export function lockNumber(locks: number): fc.Arbitrary<number> {
  return fc.oneof(
    { weight: 1, arbitrary: fc.nat(Math.min(locks, 2) - 1) },
    { weight: 1, arbitrary: fc.nat(locks - 1) },
  );
}

/** Sequences of steps on so many locks. Asking is more frequent, or there would seldom be a line. */
export function steps(locks: number): fc.Arbitrary<Iterable<fc.AsyncCommand<Reference, readonly Subject[]>>> {
  const names = Object.keys(STEPS) as StepName[];
  const step = fc
    .tuple(
      fc.constantFrom(...names, 'ask' as const, 'ask' as const, 'ask' as const, 'ask' as const),
      lockNumber(locks),
      fc.nat(2),
      fc.nat(100),
      patientOptions(),
    )
    .map((parts) => new Step(...parts));
  return fc.commands([step], { maxCommands: 50, size: 'max' });
}
