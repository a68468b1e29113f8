import { LockDeadlockError } from '../../../../lib/core/errors/errors.js';
import type { AcquireOptions } from '../../../../lib/core/options/acquire-options.js';
import type { LockKeys } from '../../../../lib/core/options/lock-keys.js';
import { deferred, SOON, within } from '../../../support/waiting.js';
import { benchForEach, outcome, rejection, settle } from '../support.js';

const b = benchForEach();

const READ: AcquireOptions = { mode: 'read' };
const WRITE: AcquireOptions = {};
const permits = (permits: number, weight = 1): AcquireOptions => ({ permits, weight });

/** How many of the sections of `branches`, each begun inside one hold, are inside at the same time at most, and in which order they begin. */
async function together(inside: AcquireOptions, branches: readonly AcquireOptions[]) {
  const begun: number[] = [];
  let now = 0;
  let most = 0;
  const branch = (options: AcquireOptions, i: number) =>
    b.service.withLock(
      'k',
      async () => {
        begun.push(i);
        most = Math.max(most, (now += 1));
        await settle();
        now -= 1;
      },
      options,
    );
  await b.service.withLock('k', () => Promise.all(branches.map(branch)), inside);
  expect(begun).toEqual(branches.map((_, i) => i));
  expect(b.store.acquires).toBe(1);
  return most;
}

describe('a request inside a hold on the same key', () => {
  it.each([
    ['reads in a read', READ, [READ, READ, READ], 3],
    ['reads in a writer', WRITE, [READ, READ, READ], 3],
    ['writers in a writer', WRITE, [WRITE, WRITE], 1],
    ['permits in a plain lock', WRITE, [permits(5), permits(5)], 1],
    ['permits that fit into those of the hold', permits(9, 3), [permits(9), permits(9, 2)], 2],
    ['permits that do not fit together', permits(9, 3), [permits(9, 2), permits(9, 2)], 1],
    [
      'permits, in order: one that would fit does not overtake',
      permits(9, 3),
      [permits(9, 2), permits(9, 2), permits(9)],
      2,
    ],
    ['a writer between reads, in a writer', WRITE, [READ, READ, WRITE, READ], 2],
  ])('is nested: %s', async (_title, inside, branches, most) => {
    expect(await together(inside, branches)).toBe(most);
  });

  it.each([
    ['a writer in a read', READ, WRITE, /End the read, lock for writing, and read again\./],
    ['permits in a read', READ, permits(5), /permits wait until all reads have ended/],
    ['a read in permits', permits(5), READ, /reads wait until all permits are returned/],
    ['a plain lock in permits', permits(5), WRITE, /request the whole lock from the start/],
    ['more permits than the hold has', permits(5, 2), permits(5, 3), /Request 3 from the start\./],
  ])('is refused if it would wait for itself: %s', async (_title, inside, asked, why) => {
    await b.service.withLock(
      'k',
      async () => {
        const error = await rejection(b.service.acquire('k', asked));
        expect(error).toBeInstanceOf(LockDeadlockError);
        expect(error.details).toMatch(why);
        expect(await rejection(b.service.tryAcquire('k', asked))).toBeInstanceOf(LockDeadlockError);
      },
      inside,
    );
    expect(b.store.acquires).toBe(1);
  });

  it('counts from what the hold around it asked for, not from what that one nests in', async () => {
    await b.service.withLock('k', () =>
      b.service.withLock(
        'k',
        async () => {
          expect(await rejection(b.service.acquire('k'))).toBeInstanceOf(LockDeadlockError);
          await (await b.service.acquire('k', READ)).release();
        },
        READ,
      ),
    );
    await b.service.withLock('k', () =>
      b.service.withLock(
        'k',
        async () => {
          expect(await rejection(b.service.acquire('k', permits(5, 3)))).toBeInstanceOf(LockDeadlockError);
          await (await b.service.acquire('k', permits(5, 2))).release();
        },
        permits(5, 2),
      ),
    );
  });

  it('never waits behind a writer in line: a nested read is served immediately', async () => {
    const inLine = deferred();
    const reading = b.service.withLock(
      'k',
      async () => {
        await inLine.promise;
        await b.service.withLock('k', () => undefined, READ);
      },
      READ,
    );
    const writer = b.service.acquire('k');
    await settle();
    expect(await b.store.waiting('k')).toBe(1);
    inLine.resolve();
    await reading;
    await (await writer).release();
  });

  it('leaves to the hold around it what is still inside when its section ends', async () => {
    const end = deferred();
    await b.service.withLock(
      'k',
      async () => {
        let left: Promise<unknown> = Promise.resolve();
        await b.service.withLock(
          'k',
          () => {
            left = b.service.withLock('k', () => end.promise, permits(3, 2));
            return settle();
          },
          permits(3, 3),
        );
        const waits = b.service.acquire('k', permits(3, 2));
        expect(await outcome(waits)).toBe('pending');
        // One behind it that gives up lets nobody in.
        await rejection(b.service.acquire('k', { ...permits(3), waitTime: 10 }));
        expect(await outcome(waits)).toBe('pending');
        end.resolve();
        await left;
        await (await waits).release();
      },
      permits(3, 3),
    );
  });
});

describe('a lock that is shared', () => {
  it('has no fencing token', async () => {
    const lock = await b.service.acquire(['doc', { key: 'api', permits: 3 }, { key: 'book', mode: 'read' }]);
    expect([...lock.tokens.keys()]).toEqual(['doc']);
    await lock.release();
    const single = await b.service.acquire('api', permits(3));
    expect([single.token, single.tokens.size]).toEqual([undefined, 0]);
    await single.release();
  });

  it('of several is taken in its turn by name, whatever is asked of it', async () => {
    const keys = [
      { key: 'b', permits: 20 },
      { key: 'z', permits: 2 },
      { key: 'a', permits: 20 },
      'y',
      { key: 'x', mode: 'read' as const },
    ];
    await (await b.service.acquire(keys)).release();
    expect(b.store.log.filter((entry) => entry.startsWith('acquire'))).toEqual(
      ['a', 'b', 'x', 'y', 'z'].map((key) => `acquire ${key}`),
    );
  });

  it.each<[string, LockKeys, LockKeys]>([
    [
      'the whole of keys that others share',
      [
        { key: 'tenant', permits: 2 },
        { key: 'api', permits: 20 },
      ],
      ['tenant', 'api'],
    ],
    ['permits of a key that others read', [{ key: 'x', permits: 2 }, 'y'], ['y', { key: 'x', mode: 'read' }]],
    [
      'a limit that a deployment has raised',
      [
        { key: 'x', permits: 1 },
        { key: 'y', permits: 2, weight: 2 },
      ],
      [
        { key: 'x', permits: 3, weight: 3 },
        { key: 'y', permits: 2, weight: 2 },
      ],
    ],
  ])('does not deadlock with a call for %s, even with Infinity', async (_, ones, others) => {
    const call = (keys: LockKeys): Promise<void> => b.service.withLock(keys, settle, { waitTime: Infinity });
    for (let round = 0; round < 5; round += 1) {
      await within(Promise.all([call(ones), call(others), call(ones)]), SOON, 'both calls');
    }
  });

  it('uses the options for each key that has none', async () => {
    const one = await b.service.acquire(['a', { key: 'b' }, { key: 'c', permits: 3 }], READ);
    const other = await b.service.tryAcquire(['a', 'b'], READ);
    expect(other).toBeDefined();
    expect((await b.service.inspect('c')).holders).toMatchObject([
      { share: { mode: 'permits', permits: 3, weight: 1 } },
    ]);
    await Promise.all([one.release(), other?.release()]);
  });

  it('warns once for each key of which also the whole is asked for', async () => {
    for (const key of ['one', 'two']) {
      for (const options of [permits(3), WRITE, READ, permits(3), WRITE]) {
        await b.service.withLock(key, () => undefined, options);
      }
    }
    await b.service.withLock('book', () => b.service.withLock('book', () => undefined, READ));
    expect(b.warnings).toHaveLength(2);
    expect(b.warnings[0]).toMatch(
      /^Some calls use permits on the lock "one", and one locks it exclusively\. /,
    );
  });
});
