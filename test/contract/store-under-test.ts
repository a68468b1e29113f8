import { hostname } from 'node:os';
import { LockTimeoutError } from '../../lib/core/errors/errors.js';
import { type Grant, type LockSnapshot, type LockStore } from '../../lib/core/port/lock-store.js';
import { deferred, eventually, within, SOON } from '../support/waiting.js';
import { ask, type Asked } from '../support/ask.js';
import { BLOCKER_TIME } from '../support/bounds.js';

/** Where stores openly differ. Everything else of the contract holds for all. */
export interface Capabilities {
  /** Grants carry fencing tokens. */
  readonly fencing: boolean;
  /** Several requests may hold a lock together. */
  readonly sharing: boolean;
  /** Whether two results of the factory are two clients of one line; otherwise each is a world of its own. */
  readonly severalClients: boolean;
  /** Whether an unattended grant ends after the lease of its client; otherwise the holder cannot be separated from the store. */
  readonly leases: boolean;
  /** Whether `inspect` names each waiter by its label too; otherwise by its process only. */
  readonly waiterLabels: boolean;
  /**
   * Whether neighbours in line of one client are granted as one, and only that client knows who of them is inside. Then
   * `inspect` shows the first of them as the holder and none of them as waiting, `maxQueue` does not count them, and
   * `onQueued` may count some that were served already.
   */
  readonly runs: boolean;
  /** Whether a client can tell who the other clients' holders and waiters are, and since when; otherwise it shows their ids. */
  readonly knowsOthers: boolean;
  /** Whether a holder with a fixed lease, which sends nothing by itself, learns that another client released it by force. */
  readonly fixedLeasesLearn: boolean;
  /** Names that the store cannot serve: asking for one is a LockKeyError. */
  readonly refusedNames: RegExp | undefined;
  /** Names whose waiters stand in one line with those of another name, although each of the two is a lock of its own. */
  readonly sharedLines: RegExp | undefined;
}

/** Makes a client that has not been started. @param lease of the store, ms; the tests of other subjects are not to see its end */
export type StoreFactory = (lease?: number) => LockStore;

/** The clients under test, and the locks that the running test uses. */
export class Bench {
  private stores: LockStore[] = [];
  /** All clients that were made: also those of single tests, which may have closed theirs. */
  private readonly made: LockStore[] = [];
  private keys: string[] = [];
  private sequence = 0;

  constructor(
    private readonly factory: StoreFactory,
    readonly capabilities: Capabilities,
  ) {}

  async open(): Promise<void> {
    const count = this.capabilities.severalClients ? 3 : 1;
    this.stores = await Promise.all(Array.from({ length: count }, () => this.extraClient()));
  }

  async close(): Promise<void> {
    await Promise.all(this.made.map((store) => store.close()));
  }

  /** Some client; different numbers are different clients as far as the store has several. */
  client(number = 0): LockStore {
    const store = this.stores[number % this.stores.length];
    if (!store) throw new Error('The bench is not open.');
    return store;
  }

  /** `other`, if it can tell who is behind what client `owner` holds and waits for, else `owner` itself. */
  whoKnows(owner: number, other: number): number {
    return this.capabilities.knowsOthers ? other : owner;
  }

  /** What `client` shows; where clients do not know each other's holders and waiters, what they show together. */
  async inspect(client: LockStore, key: string): Promise<LockSnapshot> {
    if (this.capabilities.knowsOthers) return client.inspect(key);
    const all = await Promise.all(this.stores.map((store) => store.inspect(key)));
    const named = <T extends { readonly who: string }>(views: (T | undefined)[]): T | undefined =>
      views.find((view) => view?.who.startsWith(`${hostname()}/`)) ?? views[0];
    const [one] = all;
    if (!one) throw new Error('The bench is not open.');
    const holder = named(all.map((snapshot) => snapshot.holder));
    const waiters = one.waiters.map((own, i) => named(all.map(({ waiters }) => waiters[i])) ?? own);
    return { ...one, holder, waiters };
  }

  /** A client apart from those that the tests share. @param lease of its holds, ms, for a test that waits for it */
  async extraClient(lease?: number): Promise<LockStore> {
    const store = this.factory(lease);
    this.made.push(store);
    await store.start();
    return store;
  }

  /** A client whose holds end soon after it renews them no more; in a store without leases, at once. */
  async briefClient(): Promise<LockStore> {
    return this.capabilities.leases ? this.extraClient(BRIEF_LEASE) : this.client();
  }

  /** A lock that no other test has used; `name` may be anything. */
  key(name = 'lock'): string {
    this.sequence += 1;
    return this.uses(`${name} ${this.sequence}`);
  }

  /** Tells which locks must be free again after the test. */
  uses(key: string): string {
    this.keys.push(key);
    return key;
  }

  /** Begins anew: what a failed run of a property left behind is not held against the next. */
  forgetKeys(): void {
    this.keys = [];
  }

  /** Every test must leave its locks free: what is left is a grant or a waiter without an owner. */
  async expectNothingLeft(): Promise<void> {
    const keys = this.keys;
    this.keys = [];
    await eventually(
      async () => {
        const snapshots = await Promise.all(keys.map((key) => this.client().inspect(key)));
        return snapshots.every(({ holder, kept, queueLength }) => !holder && !kept && queueLength === 0);
      },
      FREE,
      'the locks of this test to be free',
    );
  }

  ask(client: number | LockStore, key: string, options: TestRequestOptions = {}): TestRequest {
    return new TestRequest(typeof client === 'number' ? this.client(client) : client, key, options);
  }

  /** Asks and waits until it is in line. */
  async askInLine(
    client: number | LockStore,
    key: string,
    options: TestRequestOptions = {},
  ): Promise<TestRequest> {
    const ask = this.ask(client, key, options);
    await ask.queued();
    return ask;
  }

  /** Asks and waits for the grant. */
  async hold(client: number | LockStore, key: string, options: TestRequestOptions = {}): Promise<Grant> {
    return this.ask(client, key, options).granted();
  }
}

/** A while longer than it takes to line up behind a hold, ms. */
const BRIEF_LEASE = 2_000;

/** What a test gave back is free after a few round trips; what a failed test left is renewed, and those after it are not to wait for long. */
const FREE = 5_000;

export type TestRequestOptions = Partial<Omit<Asked, 'key'>>;

/** One request to a store, and what became of it. */
export class TestRequest {
  private readonly grant: Promise<Grant>;
  private readonly acknowledged = deferred<number>();
  private readonly controller = new AbortController();
  private readonly since = performance.now();
  /** What the store said so far: nothing, that it waits behind so many, that it has the lock, or the refusal. */
  outcome: 'sent' | 'queued' | 'granted' | { readonly refused: unknown } = 'sent';

  constructor(
    store: LockStore,
    readonly key: string,
    readonly options: TestRequestOptions,
  ) {
    this.grant = ask(store, {
      key,
      waitTime: 60_000,
      maxQueue: Infinity,
      label: 'test',
      signal: this.controller.signal,
      ...options,
      onQueued: (ahead) => {
        this.outcome = 'queued';
        options.onQueued?.(ahead);
        this.acknowledged.resolve(ahead);
      },
    });
    this.grant.then(
      () => {
        this.outcome = 'granted';
        this.acknowledged.reject(new Error('It was granted at once.'));
      },
      (error: unknown) => {
        this.outcome = { refused: error };
        this.acknowledged.reject(error);
      },
    );
    this.acknowledged.promise.catch(() => undefined); // the test that asks for it sees it
  }

  /** How many were ahead when the store put it in line. */
  queued(): Promise<number> {
    return within(
      this.acknowledged.promise,
      SOON,
      `${JSON.stringify(this.key.slice(0, 50))}: a place in line`,
    );
  }

  granted(): Promise<Grant> {
    return within(this.grant, SOON, `${JSON.stringify(this.key.slice(0, 50))}: the grant`);
  }

  /** The error it was refused with. If it was granted, the lock is given back and the test fails. */
  async refused(): Promise<unknown> {
    const result = await this.settled();
    if (result.status === 'rejected') return result.reason;
    await result.value.release();
    throw new Error(`The lock ${JSON.stringify(this.key.slice(0, 50))} was granted.`);
  }

  /** What its error says of its blocker, when its wait time is over. Undefined if the server took too long to tell. */
  async blockedBy(): Promise<LockTimeoutError['blockedBy'] | undefined> {
    const error = await this.refused();
    if (!(error instanceof LockTimeoutError)) throw error;
    const late = performance.now() - this.since - error.waitTime;
    return late < BLOCKER_TIME ? error.blockedBy : undefined;
  }

  async settled(): Promise<PromiseSettledResult<Grant>> {
    const what = `${JSON.stringify(this.key.slice(0, 50))}: an answer`;
    const [result] = await within(Promise.allSettled([this.grant]), SOON, what);
    return result;
  }

  abort(reason?: unknown): void {
    this.controller.abort(reason);
  }
}

/** Lets each have its turn; in which order they had it, by their places in the list. */
export async function serve(asks: readonly TestRequest[]): Promise<number[]> {
  const served: number[] = [];
  const turn = async (ask: TestRequest, i: number): Promise<void> => {
    const grant = await ask.granted();
    served.push(i);
    await grant.release();
  };
  await Promise.all(asks.map(turn));
  return served;
}
