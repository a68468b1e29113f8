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
import { permits, read } from './shares.js';
import { TestRequest, type TestRequestOptions, type Bench } from './store-under-test.js';
import { type Asked, type Reference, type ReferenceLock } from './model.js';

/** The store under test, beside one lock of the reference. */
export class Subject {
  private readonly asks = new Map<Asked, TestRequest>();
  private readonly grants = new Map<Asked, Grant>();
  /** In the order in which they were seen. */
  private readonly past: Grant[] = [];
  private lastToken = 0;
  private sequence = 0;

  constructor(
    readonly bench: Bench,
    readonly key: string,
  ) {}

  /** Asks as a new request. */
  ask(client: LockStore, options: TestRequestOptions): [asked: Asked, request: TestRequest] {
    const asked = { name: `request ${(this.sequence += 1)}`, share: options.share };
    const request = this.bench.ask(client, this.key, { ...options, label: asked.name });
    this.asks.set(asked, request);
    return [asked, request];
  }

  of(asked: Asked): TestRequest {
    const request = this.asks.get(asked);
    if (!request) throw new Error(`${asked.name} never asked.`);
    return request;
  }

  grantOf(asked: Asked): Grant {
    const grant = this.grants.get(asked);
    if (!grant) throw new Error(`${asked.name} has not been granted.`);
    return grant;
  }

  /** Waits until all of `served` have the lock; the token of one that has it alone is the highest so far. */
  async expectGranted(...served: readonly Asked[]): Promise<void> {
    for (const asked of served) {
      const grant = await this.of(asked).granted();
      expect(grant.lease.state).toBe('held');
      expect(grant.token !== undefined).toBe(this.bench.capabilities.fencing && !asked.share);
      if (grant.token !== undefined) {
        expect(grant.token).toBeGreaterThan(this.lastToken);
        this.lastToken = grant.token;
      }
      this.grants.set(asked, grant);
      this.past.push(grant);
    }
  }

  /** Ends the holds of `asked`, which may be all, by `force`; who comes next has the lock then. */
  async endByForce(
    lock: ReferenceLock,
    asked: readonly Asked[],
    force: () => Promise<boolean>,
  ): Promise<void> {
    const { fixedLeasesLearn, runs } = this.bench.capabilities;
    expect(await force()).toBe(asked.length > 0);
    const grants = asked.map((each) => this.grantOf(each));
    const areNotified =
      fixedLeasesLearn || asked.every((each) => this.of(each).options.leaseTime === undefined);
    let served = lock.end(...asked);
    if (areNotified) {
      await eventually(
        () => grants.every(({ lease }) => lease.state === 'lost'),
        SOON,
        'the holders to be told',
      );
      for (const { lease } of grants) expect(lease.lostError).toBeInstanceOf(LockLostError);
      if (runs) served = await this.letOneOvertake(lock, served);
    }
    await this.expectGranted(...served);
    if (!areNotified) for (const grant of grants) await grant.release();
  }

  /**
   * Neighbours of one client that were granted together with a hold that was ended by force ask for their places again, and one that stood
   * behind them may be served first. Returns who is served.
   */
  private async letOneOvertake(lock: ReferenceLock, served: Asked[]): Promise<Asked[]> {
    if (served.length === 0) return served;
    const isServed = (asked: Asked): boolean => this.of(asked).outcome === 'granted';
    await eventually(() => [...served, ...lock.line].some(isServed), SOON, 'one of the line to be served');
    const first = [...served, ...lock.line].find(isServed)!;
    return served.includes(first) ? served : lock.overtake(first);
  }

  /** Some grant that has ended, or will. */
  some(choice: number): Grant | undefined {
    const ended = this.past.filter(({ lease }) => lease.state === 'released' || lease.state === 'lost');
    return ended[choice % ended.length];
  }

  /** What the store shows is what the reference has, or soon will be: a grant that came too late is still on its way back. */
  async expectLike(lock: ReferenceLock, client: LockStore): Promise<void> {
    for (const asked of lock.line) expect(this.of(asked).outcome).toBe('queued');
    for (const asked of lock.holders) expect(this.grantOf(asked).lease.state).toBe('held');

    const { runs, waiterLabels } = this.bench.capabilities;
    const names = (all: readonly Asked[]): string[] => all.map(({ name }) => name);
    const expected = {
      held: lock.holders.length > 0,
      used: lock.used,
      limit: lock.limit,
      ...(!runs && { holders: names(lock.holders), length: lock.line.length }),
      ...(!runs && waiterLabels && { line: names(lock.line) }),
    };
    const shown = async (): Promise<object> => {
      const snapshot = await this.bench.inspect(client, this.key);
      const { holder, waiters, queueLength, used, limit } = snapshot;
      const holders = holder && !used ? [holder] : snapshot.holders;
      return {
        held: holder !== undefined,
        used,
        limit,
        ...(!runs && { holders: holders.map(labelOf), length: queueLength }),
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

function oneOf<T>(all: readonly T[], choice: number): T | undefined {
  return all[choice % all.length];
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
    const [asked, request] = subject.ask(client, options);
    const expected = lock.ask(asked);
    if (expected === 'granted') await subject.expectGranted(asked);
    else if (subject.bench.capabilities.runs) expect(await request.queued()).toBeGreaterThanOrEqual(expected);
    else expect(await request.queued()).toBe(expected);
  },

  async try({ lock, subject, client, options: { share } }) {
    const [asked, request] = subject.ask(client, { share, waitTime: 0 });
    if (!lock.admits(asked)) return expect(await request.refused()).toBeInstanceOf(LockTimeoutError);
    lock.ask(asked);
    await subject.expectGranted(asked);
  },

  async askAtFullLine({ lock, subject, client, options: { share } }) {
    if (lock.admits({ name: 'this', share }) || subject.bench.capabilities.runs) return;
    const [, request] = subject.ask(client, { share, maxQueue: lock.line.length });
    expect(await request.refused()).toBeInstanceOf(LockQueueFullError);
  },

  async askForMoment({ lock, subject, client, options: { share } }) {
    if (lock.admits({ name: 'this', share })) return;
    const [, request] = subject.ask(client, { share, waitTime: 2 });
    expect(await request.refused()).toBeInstanceOf(LockTimeoutError);
  },

  async release({ lock, subject, choice }) {
    const asked = oneOf(lock.holders, choice);
    if (!asked) return;
    const grant = subject.grantOf(asked);
    const served = lock.end(asked);
    await grant.release();
    await subject.expectGranted(...served);
    expect(grant.lease.state).toBe('released');
  },

  async releaseAgain({ subject, choice }) {
    await subject.some(choice)?.release();
  },

  async force({ lock, subject, client }) {
    await subject.endByForce(lock, lock.holders, () => client.forceRelease(subject.key));
  },

  async forceOne({ lock, subject, client, choice }) {
    const asked = oneOf(lock.holders, choice);
    if (!asked?.share) return;
    const { holders } = await subject.bench.inspect(client, subject.key);
    const holder = holders.find((each) => labelOf(each) === asked.name)?.id;
    await subject.endByForce(lock, [asked], () => client.forceRelease(subject.key, { holder }));
  },

  async abort({ lock, subject, choice }) {
    const asked = oneOf(lock.line, choice);
    if (!asked) return;
    const served = lock.leave(asked);
    subject.of(asked).abort();
    expect(await subject.of(asked).refused()).toBeInstanceOf(LockAbortedError);
    await subject.expectGranted(...served);
  },

  /** The first in line aborts while the lock may be handed to it: whichever wins, the line moves on. */
  async releaseAndAbortNext({ lock, subject, choice }) {
    const [next] = lock.line;
    const asked = oneOf(lock.holders, choice);
    if (!next || !asked) return;
    let served = lock.end(asked);
    const released = subject.grantOf(asked).release();
    for (let i = choice % 20; i > 0; i -= 1) await new Promise(setImmediate);
    subject.of(next).abort();
    const result = await subject.of(next).settled();
    await released;
    if (result.status === 'rejected') {
      const others = served.filter((each) => each !== next);
      served = [...others, ...(others.length < served.length ? lock.end(next) : lock.leave(next))];
    }
    await subject.expectGranted(...served);
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

/**
 * Long waits and fixed leases up to the longest that there are; those that could end during the test are left out. Kinds mix, and limits
 * differ.
 */
export function patientOptions(sharing: boolean): fc.Arbitrary<TestRequestOptions> {
  const long = (option: 'waitTime' | 'leaseTime'): fc.Arbitrary<number> =>
    valuesOf(option)
      .filter((ms) => ms > 60_000)
      .map((ms) => wholeNumber(option, ms) ?? ms);
  const some = fc
    .integer({ min: 1, max: 4 })
    .chain((limit) => fc.integer({ min: 1, max: limit }).map((weight) => permits(limit, weight).share));
  const share = fc.oneof(
    { weight: 2, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: fc.constant(read.share) },
    { weight: 4, arbitrary: some },
  );
  const options = { waitTime: long('waitTime'), leaseTime: long('leaseTime'), ...(sharing && { share }) };
  return fc.record(options, { requiredKeys: [] });
}

/** One of so many locks. The first two are more frequent, or there would seldom be a line. */
export function lockNumber(locks: number): fc.Arbitrary<number> {
  return fc.oneof(
    { weight: 1, arbitrary: fc.nat(Math.min(locks, 2) - 1) },
    { weight: 1, arbitrary: fc.nat(locks - 1) },
  );
}

/** Sequences of steps on so many locks. Asking is more frequent, or there would seldom be a line. */
export function steps(
  locks: number,
  sharing: boolean,
): fc.Arbitrary<Iterable<fc.AsyncCommand<Reference, readonly Subject[]>>> {
  const names = Object.keys(STEPS) as StepName[];
  const step = fc
    .tuple(
      fc.constantFrom(...names, 'ask' as const, 'ask' as const, 'ask' as const, 'ask' as const),
      lockNumber(locks),
      fc.nat(2),
      fc.nat(100),
      patientOptions(sharing),
    )
    .map((parts) => new Step(...parts));
  return fc.commands([step], { maxCommands: 50, size: 'max' });
}
