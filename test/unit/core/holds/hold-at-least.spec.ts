import type { LockTimeoutError } from '../../../../lib/core/errors/errors.js';
import { benchForEach } from '../support.js';

/** So long that a test which waits for its end has failed. */
const LONG = 3_600_000;

const b = benchForEach();

/** For how long `key` is still kept, ms; 0 if it is not. */
const keptFor = async (key: string): Promise<number> => (await b.service.inspect(key)).kept?.left ?? 0;

describe('holdAtLeast', () => {
  const job = { holdAtLeast: LONG };

  it('keeps the lock after a section that ended early: nobody holds it, nobody gets it', async () => {
    expect(await b.service.withLock('k', () => 'done', job)).toBe('done');
    expect(await b.service.tryAcquire('k')).toBeUndefined();
    expect(await b.service.isLocked('k')).toBe(true);
    expect(await b.service.inspect('k')).toMatchObject({ holder: undefined, kept: {} });
    expect(await keptFor('k')).toBeGreaterThan(LONG - 10_000);
    expect(await keptFor('k')).toBeLessThanOrEqual(LONG);
    const late = await b.service.acquire('k', { waitTime: 10 }).catch((error: unknown) => error);
    expect((late as LockTimeoutError).blockedBy.keptFor).toBeGreaterThan(LONG - 10_000);
    expect((late as LockTimeoutError).details).toMatch(
      /, kept for another 3[56]\d\d(\.\d)? s: .* held it last, with holdAtLeast, 0 ahead.*lower holdAtLeast/,
    );
  });

  it('keeps it also after a section that threw', async () => {
    const failing = b.service.withLock('k', () => Promise.reject(new Error('no paper')), job);
    await expect(failing).rejects.toThrow('no paper');
    expect(await keptFor('k')).toBeGreaterThan(0);
  });

  it('counts for acquire and tryAcquire as well, from the grant to the release', async () => {
    const first = await b.service.acquire('a', job);
    const second = await b.service.tryAcquire('b', job);
    expect(await keptFor('a')).toBe(0);
    await Promise.all([first.release(), second?.release()]);
    expect(await keptFor('a')).toBeGreaterThan(0);
    expect(await keptFor('b')).toBeGreaterThan(0);
  });

  it.each([
    ['the outer', { holdAtLeast: LONG }, { holdAtLeast: 1 }],
    ['the inner', {}, { holdAtLeast: LONG }],
  ] as const)(
    'of nested holds the longest counts, when the outermost ends: %s',
    async (_which, outer, inner) => {
      await b.service.withLock(
        'k',
        async () => {
          await b.service.withLock('k', () => undefined, inner);
          expect(await b.service.inspect('k')).not.toHaveProperty('kept');
        },
        outer,
      );
      expect(await keptFor('k')).toBeGreaterThan(LONG - 10_000);
    },
  );

  it('keeps each of several keys', async () => {
    await b.service.withLock(['a', 'b'], () => undefined, job);
    expect(Math.min(await keptFor('a'), await keptFor('b'))).toBeGreaterThan(0);
  });

  it('keeps no key of a call that did not get all of them: its section never ran', async () => {
    const blocker = await b.service.acquire('b');
    expect(await b.service.tryAcquire(['a', 'b'], job)).toBeUndefined();
    await blocker.release();
    const lock = await b.service.tryAcquire(['a', 'b']);
    expect(lock?.keys).toEqual(['a', 'b']);
    await lock?.release();
  });

  it('keeps no lock that was lost: the lease decides then', async () => {
    await b.service.withLock('k', () => b.store.lose('k'), job);
    expect(await keptFor('k')).toBe(0);
    await (await b.service.acquire('k', { waitTime: 0 })).release();
  });

  it('keeps the lock of a section that a shutdown does not wait for', async () => {
    const lock = await b.service.acquire('k', job);
    b.engine.beginShutdown();
    await b.engine.close();
    expect(b.store.kept).toEqual([['k', LONG]]);
    await lock.release();
  });
});
