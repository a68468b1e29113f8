import fc from 'fast-check';
import { FairLockError } from '../../../lib/core/errors.js';
import type { FairLock } from '../../../lib/core/fair-lock.js';
import type { LockEngine } from '../../../lib/core/lock-engine.js';
import { bench, leftovers, NOTHING, settle, type Bench, type RecordingStore } from './support.js';

/** A section, and how it treats the sections that it begins. */
interface Section {
  readonly keys: readonly string[];
  readonly ask: 'withLock' | 'acquire';
  readonly options: { readonly waitTime?: number };
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
  waitTimes: readonly (number | undefined)[],
): fc.Arbitrary<Section> => {
  const { node } = fc.letrec<{ node: Section }>((tie) => ({
    node: fc.record({
      keys: fc.subarray([...keys], { minLength: 1 }),
      ask: fc.constantFrom('withLock', 'withLock', 'withLock', 'acquire'),
      options: fc.constantFrom(...waitTimes).map((waitTime) => (waitTime === undefined ? {} : { waitTime })),
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

/** Runs trees of sections and finds two that overlap although neither began the other. */
class Run {
  readonly overlaps: string[] = [];
  private readonly all: Promise<void>[] = [];
  private readonly active = new Map<string, { id: string; ancestors: readonly string[] }[]>();
  private sections = 0;
  /** Each loses a lock whose abort listener begins a root. */
  private readonly losses: (() => void)[] = [];

  constructor(
    private readonly engine: LockEngine,
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
        const lock = await this.engine.acquire(`foreign ${n}`);
        lock.signal.addEventListener('abort', () => void this.begin(root, []));
        this.losses.push(() => this.store.lose(lock.key));
        return lock;
      }),
    );
  }

  private begin(node: Section, ancestors: readonly string[]): Promise<void> {
    const id = `${(this.sections += 1)}`;
    const run = async (): Promise<void> => {
      if (node.detached) await settle();
      if (node.ask === 'withLock') {
        await this.engine.withLock(node.keys, () => this.body(node, id, ancestors), node.options);
      } else {
        // Not a scope: what is begun inside would wait for it, so it has no children.
        const lock = await this.engine.acquire(node.keys, node.options);
        try {
          await this.body({ ...node, children: [] }, id, ancestors);
        } finally {
          await lock.release();
        }
      }
    };
    const expected = (error: unknown): void => {
      if (error !== ownError && !(error instanceof FairLockError && error.code === 'WAIT_TIMEOUT'))
        throw error;
    };
    const ended = run().catch(expected);
    this.all.push(ended);
    return ended;
  }

  private async body(node: Section, id: string, ancestors: readonly string[]): Promise<void> {
    this.enter(node.keys, id, ancestors);
    try {
      await eventLoopTurns(node.eventLoopTurns[0]);
      this.losses.pop()?.();
      const begin = (child: Section): Promise<void> => this.begin(child, [...ancestors, id]);
      if (node.order === 'sequence') for (const child of node.children) await begin(child);
      else {
        const begun = node.children.map(begin);
        if (node.order === 'branches') await Promise.all(begun);
      }
      await eventLoopTurns(node.eventLoopTurns[1]);
      if (node.throws) throw ownError;
    } finally {
      this.leave(node.keys, id);
    }
  }

  private enter(keys: readonly string[], id: string, ancestors: readonly string[]): void {
    for (const key of keys) {
      const inside = this.active.get(key) ?? [];
      for (const other of inside) {
        if (!ancestors.includes(other.id)) this.overlaps.push(`${id} entered ${key} beside ${other.id}`);
      }
      this.active.set(key, [...inside, { id, ancestors }]);
    }
  }

  private leave(keys: readonly string[], id: string): void {
    for (const key of keys) {
      this.active.set(key, this.active.get(key)?.filter((other) => other.id !== id) ?? []);
    }
  }
}

const ownError = new Error('thrown by a section');

async function eventLoopTurns(count: number): Promise<void> {
  for (let n = 0; n < count; n += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** After everything has ended, nothing is held, no request waits, and every grant was given back to the store. */
async function expectBalanced({ store, engine }: Bench, keys: readonly string[]): Promise<void> {
  for (const key of keys) {
    expect(await engine.inspect(key)).toMatchObject({ holder: undefined, queueLength: 0 });
    const count = (what: string): number => store.log.filter((entry) => entry === `${what} ${key}`).length;
    expect(count('release')).toBe(count('granted'));
  }
  expect(leftovers(engine)).toEqual(NOTHING);
}

async function check(roots: readonly Section[], keys: readonly string[]): Promise<void> {
  const b = bench();
  const run = new Run(b.engine, b.store);
  await run.finish(roots);
  expect(run.overlaps).toEqual([]);
  await expectBalanced(b, keys);
  await b.engine.close();
}

describe('any tree of nested, parallel, forgotten and detached sections', () => {
  it('of one key never overlaps except with those that began it, and gives back what it took', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(section(['a'], [undefined]), { minLength: 1, maxLength: 2 }), (roots) =>
        check(roots, ['a']),
      ),
      { numRuns: 300 },
    );
  });

  it('of several keys, where some give up, does so as well', async () => {
    const keys = ['a', 'b', 'c'];
    await fc.assert(
      fc.asyncProperty(fc.array(section(keys, [0, 1, 5, 20]), { minLength: 1, maxLength: 3 }), (roots) =>
        check(roots, keys),
      ),
      { numRuns: 200 },
    );
  });
});
