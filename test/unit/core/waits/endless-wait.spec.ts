import { LockDeadlockError } from '../../../../lib/core/errors/errors.js';
import { deferred } from '../../../support/waiting.js';
import { bench, benchForEach, outcome, rejection } from '../support.js';

const b = benchForEach();

describe('an endless wait', () => {
  it('inside a hold on another key is refused, because two flows in opposite order would wait forever', async () => {
    await b.service.withLock('a', async () => {
      const error = await rejection(b.service.acquire('b', { waitTime: Infinity }));
      expect(error).toBeInstanceOf(LockDeadlockError);
      expect(error).toMatchObject({ key: 'b' });
      expect(error.details).toContain('inside a hold on "a"');
      expect(await rejection(b.service.acquire(['b', 'c'], { waitTime: Infinity }))).toBeInstanceOf(
        LockDeadlockError,
      );
      await b.service.withLock('b', () => undefined, { waitTime: 1_000 });
    });
    expect(b.store.log.filter((entry) => entry === 'acquire b')).toHaveLength(1);
  });

  it('is fine for re-entering, outside of holds, and after a hold has ended', async () => {
    const options = { waitTime: Infinity };
    const ended = deferred();
    let detached: Promise<void> | undefined;
    await b.service.withLock(
      'a',
      async () => {
        await b.service.withLock('a', () => undefined, options);
        detached = ended.promise.then(() => b.service.withLock('b', () => undefined, options));
      },
      options,
    );
    ended.resolve();
    await detached;
  });

  it('of a branch behind another branch of its own flow is fine, unless it holds more than that one', async () => {
    const options = { waitTime: Infinity };
    await b.service.withLock(['a', 'b'], async () => {
      const first = await b.service.acquire('a');
      const second = b.service.acquire('a', options);
      expect(await outcome(second)).toBe('pending');
      await first.release();
      await (await second).release();

      const other = await b.service.acquire('b');
      await b.service.withLock('a', async () => {
        expect(await rejection(b.service.acquire('b', options))).toBeInstanceOf(LockDeadlockError);
      });
      await other.release();
    });
  });

  it('of a branch is refused where it entered its own lock again from inside of another', async () => {
    const options = { waitTime: Infinity };
    const outer = await b.service.acquire(['a', 'b']);
    await outer.run(async () => {
      const other = await b.service.acquire('a');
      await b.service.withLock('b', async () => {
        const again = outer.run(() => b.service.acquire('a', options));
        expect(await outcome(again)).toBeInstanceOf(LockDeadlockError);
      });
      const alone = outer.run(() => outer.run(() => b.service.acquire('a', options)));
      await other.release();
      await (await alone).release();
    });
    await outer.release();
  });

  it('is refused inside a hold of another engine too', async () => {
    const other = bench();
    await other.service.withLock('a', async () => {
      expect(await rejection(b.service.acquire('a', { waitTime: Infinity }))).toBeInstanceOf(
        LockDeadlockError,
      );
    });
    await other.engine.close();
  });

  it('is refused in the run of a lock that holds another key, but not for the several keys of one call', async () => {
    const options = { waitTime: Infinity };
    const both = await b.service.acquire(['a', 'b'], options);
    await both.release();
    const a = await b.service.acquire('a', options);
    const inside = (keys: string | string[]): Promise<unknown> =>
      rejection(a.run(() => b.service.acquire(keys, options)));
    expect(await inside('b')).toBeInstanceOf(LockDeadlockError);
    expect(await inside(['a', 'b'])).toBeInstanceOf(LockDeadlockError);
    await a.release();
  });

  it('is not refused for a flow that makes the same call for several keys twice concurrently', async () => {
    const options = { waitTime: Infinity };
    const stranger = await b.service.acquire('b');
    const calls = [b.service.acquire(['a', 'b'], options), b.service.acquire(['a', 'b'], options)];
    expect(await outcome(Promise.race(calls))).toBe('pending');
    await stranger.release();
    const first = await calls[0];
    await first?.release();
    const second = await calls[1];
    expect(await rejection(second!.run(() => b.service.acquire('c', options)))).toBeInstanceOf(
      LockDeadlockError,
    );
    await second?.release();
    await (await b.service.acquire('c', options)).release();
  });
});
