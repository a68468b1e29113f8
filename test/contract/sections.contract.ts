import fc from 'fast-check';
import { LockEngine } from '../../lib/core/engine/lock-engine.js';
import type { FairLockService } from '../../lib/core/engine/fair-lock-service.js';
import { FairLockError } from '../../lib/core/errors/errors.js';
import type { FairLock } from '../../lib/core/holds/fair-lock.js';
import type { AcquireOptions } from '../../lib/core/options/acquire-options.js';
import type { Grant, LockStore } from '../../lib/core/port/lock-store.js';
import type { Wait } from '../../lib/core/port/wait.js';
import { deferred, eventually, within, SOON } from '../support/waiting.js';
import { leftovers, NOTHING, settle } from '../unit/core/support.js';
import type { Capabilities, StoreFactory } from './store-under-test.js';

/** A section, and how it treats the sections that it begins. */
interface Section {
  readonly keys: readonly string[];
  /** `run`: it acquires, and runs its body by `lock.run`. `again`: it takes no lock, but enters that of a section around it once more, by `lock.run`. */
  readonly ask: 'withLock' | 'acquire' | 'run' | 'again';
  readonly options: AcquireOptions;
  /** Which of the sections around it an `again` enters. */
  readonly entered: number;
  /** Turns of the event loop before and after its children are begun. */
  readonly eventLoopTurns: readonly [number, number];
  readonly children: readonly Section[];
  /** One after the other, all at once, or begun and never awaited. */
  readonly order: 'sequence' | 'branches' | 'forgotten';
  /** Whether it is begun right away or from a timer, which may fire after its parent has ended. */
  readonly detached: boolean;
  readonly throws: boolean;
  /** Turns after which its wait is aborted. */
  readonly abortAfter: number | undefined;
  /** Of a root: which client asks. */
  readonly client: number;
  /** Of a root: it is begun by an abort listener of a lock that some other section takes away. */
  readonly inListener: boolean;
}

const section = (
  keys: readonly string[],
  options: fc.Arbitrary<Section['options']>,
): fc.Arbitrary<Section> => {
  const { node } = fc.letrec<{ node: Section }>((tie) => ({
    node: fc.record({
      keys: fc.subarray([...keys], { minLength: 1 }),
      ask: fc.constantFrom('withLock', 'withLock', 'withLock', 'acquire', 'run', 'again'),
      options,
      entered: fc.nat(3),
      eventLoopTurns: fc.tuple(fc.nat(2), fc.nat(2)),
      children: fc.oneof(
        { depthSize: 'small', withCrossShrink: true },
        fc.constant([]),
        fc.array(tie('node'), { maxLength: 3 }),
      ),
      order: fc.constantFrom('sequence', 'branches', 'forgotten'),
      detached: fc.boolean(),
      throws: fc.boolean(),
      abortAfter: fc.option(fc.nat(6), { nil: undefined, freq: 4 }),
      client: fc.nat(1),
      inListener: fc.boolean(),
    }),
  }));
  return node;
};

/** A section that runs or has run, as those that it began see it. */
interface Begun {
  readonly id: string;
  readonly node: Section;
  /** Undefined for an `again`. */
  readonly lock: FairLock | undefined;
  readonly ancestors: readonly Begun[];
}

/** A process that a run of the property uses.*/
class Client {
  readonly store: LockStore;
  readonly engine: LockEngine;
  /** What has not been given back to the store. */
  private readonly held = new Set<Grant>();

  constructor(factory: StoreFactory) {
    const store = factory();
    const acquire = store.acquire.bind(store);
    store.acquire = async (wait: Wait): Promise<Grant> => {
      const grant = await acquire(wait);
      this.held.add(grant);
      const release = grant.release.bind(grant);
      grant.release = (keep) => {
        this.held.delete(grant);
        return release(keep);
      };
      return grant;
    };
    this.store = store;
    this.engine = new LockEngine(store, {
      waitTime: SOON,
      maxQueue: Infinity,
      maxHold: Infinity,
      onLost: 'signal',
      drainTimeout: Infinity,
      reentrant: true,
      onWarning: () => undefined,
    });
  }

  get service(): FairLockService {
    return this.engine.service;
  }

  /** Rejects what waits, and lets all that holds end. */
  async close(): Promise<void> {
    this.engine.beginShutdown();
    await this.engine.drain();
    await this.engine.close();
  }

  /** Nothing is held, no request waits, and each grant was given back to the store. */
  expectBalanced(): void {
    expect([...this.held]).toEqual([]);
    expect(leftovers(this.engine)).toEqual(NOTHING);
  }
}

/** Runs trees of sections and finds two that overlap although neither began the other. */
class Run {
  readonly overlaps: string[] = [];
  private readonly all: Promise<void>[] = [];
  private readonly active = new Map<string, Begun[]>();
  private sections = 0;
  /** Each loses a lock whose abort listener begins a root. */
  private readonly losses: (() => Promise<void>)[] = [];
  private readonly closes = deferred();

  constructor(
    private readonly clients: readonly Client[],
    /** Of this run alone. */
    private readonly name: string,
    /** One of the clients closes after so many sections have begun. */
    private readonly closeAt: number | undefined,
  ) {}

  /** Begins `root` and waits for it and for everything that it left behind. */
  async finish(roots: readonly Section[]): Promise<void> {
    // Outside of all sections: it would not wait for one that it is called in.
    const closed = this.closes.promise.then(() => this.clients.at(-1)!.close());
    const foreign = await this.prepareListeners(roots.filter(({ inListener }) => inListener));
    for (const root of roots) if (!root.inListener) void this.begin(root, []);
    for (let done = 0; done < this.all.length || this.losses.length > 0; done += 1) {
      // Those for which there was no section that could do it.
      if (done === this.all.length) this.lose();
      await this.all[done];
    }
    for (const lock of foreign) await lock.release();
    this.closes.resolve();
    await closed;
  }

  private prepareListeners(roots: readonly Section[]): Promise<FairLock[]> {
    return Promise.all(
      roots.map(async (root, n) => {
        const { service } = this.clientOf(root);
        const lock = await service.acquire(`${this.name} foreign ${n}`);
        const lost = new Promise<void>((resolve) => {
          lock.signal.addEventListener('abort', () => {
            void this.begin(root, []);
            resolve();
          });
        });
        this.losses.push(async () => {
          await service.forceRelease(lock.key);
          await lost;
        });
        return lock;
      }),
    );
  }

  private lose(): void {
    const loss = this.losses.pop();
    if (loss) this.all.push(loss());
  }

  private clientOf({ client }: Section): Client {
    return this.clients[client % this.clients.length]!;
  }

  /** The key of that name, of this run alone. */
  nameOf(key: string): string {
    return `${this.name} ${key}`;
  }

  private begin(node: Section, ancestors: readonly Begun[]): Promise<void> {
    const id = `${(this.sections += 1)}`;
    if (this.sections === this.closeAt) this.closes.resolve();
    const client = this.clientOf(ancestors[0]?.node ?? node);
    const expected = (error: unknown): void => {
      const { waitTime, reentrant } = node.options;
      const code = error instanceof FairLockError ? error.code : '';
      const mayFail =
        error === ownError ||
        (code === 'WAIT_TIMEOUT' && waitTime !== undefined) ||
        (code === 'ABORTED' && node.abortAfter !== undefined) ||
        (code === 'SHUTTING_DOWN' && this.closeAt !== undefined) ||
        (node.ask === 'again' && (code === 'NOT_HELD' || code === 'LOST')) || // the hold has ended meanwhile
        (code === 'DEADLOCK' &&
          (reentrant === false ||
            waitTime === Infinity ||
            ancestors.some((outer) => isMisfit(outer.node, node))));
      if (!mayFail) throw error;
    };
    const ended = this.run(node, id, ancestors, client).catch(expected);
    this.all.push(ended);
    return ended;
  }

  private async run(
    node: Section,
    id: string,
    ancestors: readonly Begun[],
    { service }: Client,
  ): Promise<void> {
    if (node.detached) await settle();
    const { ask } = node;
    const keys = node.keys.map((key) => this.nameOf(key));
    const options = {
      ...node.options,
      ...(node.abortAfter !== undefined && { signal: abortedAfter(node.abortAfter) }),
    };
    const begun = (lock?: FairLock): Begun => ({ id, node, lock, ancestors });
    if (ask === 'again') {
      const locks = ancestors.flatMap(({ lock }) => lock ?? []);
      const entered = locks[node.entered % locks.length];
      const again = (): Promise<void> => this.body({ ...begun(), node: { ...node, keys: [] } });
      await (entered ? entered.run(again) : again());
    } else if (ask === 'withLock') {
      await service.withLock(keys, (lock) => this.body(begun(lock)), options);
    } else if (ask === 'run') {
      const lock = await service.acquire(keys, options);
      await lock.run(() => this.body(begun(lock))).finally(() => lock.release());
    } else {
      const lock = await service.acquire(keys, options);
      // Not a scope: what is begun inside would wait for it, so it has no children.
      await this.body({ ...begun(), node: { ...node, children: [] } }).finally(() => lock.release());
    }
  }

  private async body(section: Begun): Promise<void> {
    const { node } = section;
    this.enter(section);
    try {
      await eventLoopTurns(node.eventLoopTurns[0]);
      this.lose();
      const begin = (child: Section): Promise<void> => this.begin(child, [...section.ancestors, section]);
      if (node.order === 'sequence') for (const child of node.children) await begin(child);
      else {
        const begun = node.children.map(begin);
        if (node.order === 'branches') await Promise.all(begun);
      }
      await eventLoopTurns(node.eventLoopTurns[1]);
      if (node.throws) throw ownError;
    } finally {
      this.leave(section);
    }
  }

  private enter(section: Begun): void {
    const { keys, options } = section.node;
    const alone = options.reentrant === false;
    for (const key of keys) {
      const inside = this.active.get(key) ?? [];
      for (const other of inside) {
        if (alone || !(section.ancestors.includes(other) || mayBeBeside(section, other, inside))) {
          this.overlaps.push(`${section.id} entered ${key} beside ${other.id}`);
        }
      }
      this.active.set(key, [...inside, section]);
      if (outgrown([...inside, section])) this.overlaps.push(`${section.id} entered ${key}, which was full`);
    }
  }

  private leave(section: Begun): void {
    for (const key of section.node.keys) {
      this.active.set(key, this.active.get(key)?.filter((other) => other !== section) ?? []);
    }
  }
}

/** How many permits the locks have that are shared so. */
const PERMITS = 2;
const SHARES: readonly Section['options'][] = [
  {},
  { mode: 'read' },
  { permits: PERMITS },
  { permits: PERMITS, weight: PERMITS },
];

const weightOf = ({ options: { permits, weight } }: Section): number => (permits ? (weight ?? 1) : 0);

/** Inside `outer`, a request like `inner` is refused: nobody else could let it in. */
function isMisfit(outer: Section, inner: Section): boolean {
  if (!inner.keys.some((key) => outer.keys.includes(key))) return false;
  if (outer.options.mode === 'read') return inner.options.mode !== 'read';
  return weightOf(outer) > 0 && (weightOf(inner) === 0 || weightOf(inner) > weightOf(outer));
}

/** The innermost of the sections around it that are inside. */
const around = (section: Begun, inside: readonly Begun[]): Begun | undefined =>
  section.ancestors.findLast((outer) => inside.includes(outer));

/** Neither began the other. Permits inside a section that is alone come one after the other. */
function mayBeBeside(one: Begun, other: Begun, inside: readonly Begun[]): boolean {
  if (one.node.options.mode === 'read' && other.node.options.mode === 'read') return true;
  const outer = around(one, inside);
  const isAlone = outer !== undefined && outer === around(other, inside) && weightOf(outer.node) === 0;
  return weightOf(one.node) > 0 && weightOf(other.node) > 0 && !isAlone;
}

/** There are more permits inside than the lock has, or than the section has that they are nested in. */
function outgrown(inside: readonly Begun[]): boolean {
  const weights = new Map<Begun | undefined, number>();
  for (const section of inside) {
    const outer = around(section, inside);
    weights.set(outer, (weights.get(outer) ?? 0) + weightOf(section.node));
  }
  return [...weights].some(
    ([outer, weight]) => weight > (outer && weightOf(outer.node) > 0 ? weightOf(outer.node) : PERMITS),
  );
}

const ownError = new Error('thrown by a section');

async function eventLoopTurns(count: number): Promise<void> {
  for (let n = 0; n < count; n += 1) await new Promise((resolve) => setImmediate(resolve));
}

const isEmpty = (options: object): boolean => Object.keys(options).length === 0;

/** A signal that aborts after some turns of the event loop. */
function abortedAfter(turns: number): AbortSignal {
  const controller = new AbortController();
  void eventLoopTurns(turns).then(() => controller.abort());
  return controller.signal;
}

/** Options of which each is one of a few values, or absent. */
const anyOf = (values: Record<string, readonly unknown[]>): fc.Arbitrary<Section['options']> =>
  fc.record(
    Object.fromEntries(Object.entries(values).map(([name, some]) => [name, fc.constantFrom(...some)])),
    { requiredKeys: ['waitTime'].filter((name) => name in values) },
  );

/** Trees, and after how many sections a client closes. */
const trees = (
  keys: readonly string[],
  options: fc.Arbitrary<Section['options']>,
): fc.Arbitrary<[Section[], number | undefined]> =>
  fc.tuple(
    fc.array(section(keys, options), { minLength: 1, maxLength: 3 }),
    fc.option(fc.integer({ min: 1, max: 8 }), { nil: undefined, freq: 3 }),
  );

const KEYS = ['a', 'b', 'c'];
const WAIT_TIMES = [0, 1, 5, 20];
const KEPT = [0, 1, 4];

/**
 * Sections that nest, fork, outlive those that began them, take several keys, give up, are kept and close: what the engine makes of the locks
 * of a store.
 */
export function describeSections(
  name: string,
  factory: StoreFactory,
  { sharing, severalClients }: Capabilities,
  numRuns: number,
): void {
  let runs = 0;
  const witness = factory();
  beforeAll(() => witness.start());
  afterAll(() => witness.close());

  async function check(roots: readonly Section[], closeAt?: number): Promise<void> {
    const clients = Array.from({ length: severalClients ? 2 : 1 }, () => new Client(factory));
    await Promise.all(clients.map(({ engine }) => engine.start()));
    const run = new Run(clients, `sections ${(runs += 1)}`, closeAt);
    await within(run.finish(roots), SOON, 'the end of the sections');
    expect(run.overlaps).toEqual([]);
    for (const client of clients) client.expectBalanced();
    for (const key of KEYS) {
      const isFree = async (): Promise<boolean> => {
        const { holder, kept, queueLength } = await witness.inspect(run.nameOf(key));
        return !holder && !kept && queueLength === 0;
      };
      await eventually(isFree, SOON, 'the locks to be free');
    }
    await Promise.all(clients.map((client) => client.close()));
  }

  describe(`any tree of nested, parallel, forgotten and detached sections, store ${name}`, () => {
    test('of one key never overlaps except with those that began it, gives back what it took, and never waits for itself', async () => {
      const options = anyOf({ reentrant: [false, true, true], holdAtLeast: KEPT });
      await fc.assert(
        fc.asyncProperty(trees(['a'], options), ([roots, closeAt]) => check(roots, closeAt)),
        { numRuns },
      );
    });

    test('of several keys and kinds, where some give up, lets in together only those that may be', async () => {
      const options = fc
        .tuple(
          anyOf({ waitTime: WAIT_TIMES, reentrant: [false, true], holdAtLeast: KEPT }),
          fc.constantFrom(...(sharing ? SHARES : [{}])),
        )
        // Only a lock that is asked for alone may refuse to nest.
        .map(
          ([{ reentrant, ...times }, share]) =>
            ({ ...times, ...share, ...(isEmpty(share) && { reentrant }) }) as AcquireOptions,
        );
      await fc.assert(
        fc.asyncProperty(trees(KEYS, options), ([roots, closeAt]) => check(roots, closeAt)),
        { numRuns },
      );
    });

    // Of two processes, neither knows what the other waits for.
    if (!severalClients)
      test('of endless waits ends: a wait that could last forever is refused', async () => {
        for (const options of [
          { waitTime: [Infinity] },
          { waitTime: [Infinity], reentrant: [false, true] },
        ]) {
          await fc.assert(
            fc.asyncProperty(trees(KEYS, anyOf(options)), ([roots]) => check(roots)),
            { numRuns: numRuns / 2 },
          );
        }
      });
  });
}
