import fc from 'fast-check';
import { FairLockError } from '../../../../lib/core/errors/errors.js';
import type { AcquireOptions } from '../../../../lib/core/options/acquire-options.js';
import type { FairLock } from '../../../../lib/core/holds/fair-lock.js';
import type { FairLockService } from '../../../../lib/core/engine/fair-lock-service.js';
import { within } from '../../../support/waiting.js';
import { bench, leftovers, NOTHING, settle, type Bench, type RecordingStore } from '../support.js';

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

/** Runs trees of sections and finds two that overlap although neither began the other. */
class Run {
  readonly overlaps: string[] = [];
  private readonly all: Promise<void>[] = [];
  private readonly active = new Map<string, Begun[]>();
  private sections = 0;
  /** Each loses a lock whose abort listener begins a root. */
  private readonly losses: (() => void)[] = [];

  constructor(
    private readonly service: FairLockService,
    private readonly store: RecordingStore,
  ) {}

  /** Begins `root` and waits for it and for everything that it left behind. */
  async finish(roots: readonly Section[]): Promise<void> {
    const foreign = await this.prepareListeners(roots.filter(({ inListener }) => inListener));
    for (const root of roots) if (!root.inListener) void this.begin(root, []);
    for (let done = 0; done < this.all.length || this.losses.length > 0; done += 1) {
      // Those for which there was no section that could do it.
      if (done === this.all.length) this.losses.pop()?.();
      await this.all[done];
    }
    for (const lock of foreign) await lock.release();
  }

  private prepareListeners(roots: readonly Section[]): Promise<FairLock[]> {
    return Promise.all(
      roots.map(async (root, n) => {
        const lock = await this.service.acquire(`foreign ${n}`);
        lock.signal.addEventListener('abort', () => void this.begin(root, []));
        this.losses.push(() => this.store.lose(lock.key));
        return lock;
      }),
    );
  }

  private begin(node: Section, ancestors: readonly Begun[]): Promise<void> {
    const id = `${(this.sections += 1)}`;
    const expected = (error: unknown): void => {
      const { waitTime, reentrant } = node.options;
      const code = error instanceof FairLockError ? error.code : '';
      const mayFail =
        error === ownError ||
        (code === 'WAIT_TIMEOUT' && waitTime !== undefined) ||
        (node.ask === 'again' && (code === 'NOT_HELD' || code === 'LOST')) || // the hold has ended meanwhile
        (code === 'DEADLOCK' &&
          (reentrant === false ||
            waitTime === Infinity ||
            ancestors.some((outer) => isMisfit(outer.node, node))));
      if (!mayFail) throw error;
    };
    const ended = this.run(node, id, ancestors).catch(expected);
    this.all.push(ended);
    return ended;
  }

  private async run(node: Section, id: string, ancestors: readonly Begun[]): Promise<void> {
    if (node.detached) await settle();
    const { keys, ask, options } = node;
    const begun = (lock?: FairLock): Begun => ({ id, node, lock, ancestors });
    if (ask === 'again') {
      const locks = ancestors.flatMap(({ lock }) => lock ?? []);
      const entered = locks[node.entered % locks.length];
      const again = (): Promise<void> => this.body({ ...begun(), node: { ...node, keys: [] } });
      await (entered ? entered.run(again) : again());
    } else if (ask === 'withLock') {
      await this.service.withLock(keys, (lock) => this.body(begun(lock)), options);
    } else if (ask === 'run') {
      const lock = await this.service.acquire(keys, options);
      await lock.run(() => this.body(begun(lock))).finally(() => lock.release());
    } else {
      const lock = await this.service.acquire(keys, options);
      // Not a scope: what is begun inside would wait for it, so it has no children.
      await this.body({ ...begun(), node: { ...node, children: [] } }).finally(() => lock.release());
    }
  }

  private async body(section: Begun): Promise<void> {
    const { node } = section;
    this.enter(section);
    try {
      await eventLoopTurns(node.eventLoopTurns[0]);
      this.losses.pop()?.();
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

/** After everything has ended, nothing is held, no request waits, and every grant was given back to the store. */
async function expectBalanced({ store, engine, service }: Bench, keys: readonly string[]): Promise<void> {
  for (const key of keys) {
    expect(await service.inspect(key)).toMatchObject({ holder: undefined, queueLength: 0 });
    const count = (what: string): number => store.log.filter((entry) => entry === `${what} ${key}`).length;
    expect(count('release')).toBe(count('granted'));
  }
  expect(leftovers(engine)).toEqual(NOTHING);
}

async function check(roots: readonly Section[], keys: readonly string[]): Promise<void> {
  const b = bench();
  const run = new Run(b.service, b.store);
  // The trees take some ms: their wait times are short, or none of their waits needs a timer.
  await within(run.finish(roots), 2_000, 'the end of the sections');
  expect(run.overlaps).toEqual([]);
  await expectBalanced(b, keys);
  await b.engine.close();
}

/** Options of which each is one of a few values, or absent. */
const anyOf = (values: Record<string, readonly unknown[]>): fc.Arbitrary<Section['options']> =>
  fc.record(
    Object.fromEntries(Object.entries(values).map(([name, some]) => [name, fc.constantFrom(...some)])),
    { requiredKeys: ['waitTime'].filter((name) => name in values) },
  );

const trees = (keys: readonly string[], options: Parameters<typeof anyOf>[0]): fc.Arbitrary<Section[]> =>
  fc.array(section(keys, anyOf(options)), { minLength: 1, maxLength: 3 });

describe('any tree of nested, parallel, forgotten and detached sections', () => {
  it('of one key never overlaps except with those that began it, gives back what it took, and never waits for itself', async () => {
    await fc.assert(
      fc.asyncProperty(trees(['a'], { reentrant: [false, true, true] }), (roots) => check(roots, ['a'])),
      { numRuns: 300 },
    );
  });

  it('of several keys, where some give up, does so as well', async () => {
    const keys = ['a', 'b', 'c'];
    await fc.assert(
      fc.asyncProperty(trees(keys, { waitTime: [0, 1, 5, 20], reentrant: [false, true] }), (roots) =>
        check(roots, keys),
      ),
      { numRuns: 200 },
    );
  });

  it('of readers, writers and permits lets in together only those that may be', async () => {
    const keys = ['a', 'b'];
    const times = anyOf({ waitTime: [0, 1, 5, 20] });
    const options = fc
      .tuple(times, fc.constantFrom(...SHARES))
      .map(([time, share]) => ({ ...time, ...share }) as AcquireOptions);
    const roots = fc.array(section(keys, options), { minLength: 1, maxLength: 3 });
    await fc.assert(
      fc.asyncProperty(roots, (sections) => check(sections, keys)),
      { numRuns: 300 },
    );
  });

  it('of endless waits ends: a wait that could last forever is refused', async () => {
    const keys = ['a', 'b', 'c'];
    const endless = { waitTime: [Infinity], reentrant: [false, true] };
    for (const options of [{ waitTime: [Infinity] }, endless]) {
      await fc.assert(
        fc.asyncProperty(trees(keys, options), (roots) => check(roots, keys)),
        { numRuns: 150 },
      );
    }
  });
});
