import { jest } from '@jest/globals';
import { LockLostError, LockTimeoutError } from '../../../../lib/core/errors/errors.js';
import { abortsOf, block, pause } from '../../../support/waiting.js';
import { benchForEach, fakeTime, recordWaitTimes, rejection, settle } from '../support.js';

const b = benchForEach();
afterEach(() => void jest.useRealTimers());

describe('several keys', () => {
  it('are taken one after the other in the order of their encoded names, whatever the order asked, and given back in reverse', async () => {
    await b.service.withLock(['b', 'a', 'c'], (lock) => {
      expect(lock.keys).toEqual(['a', 'b', 'c']);
      expect(lock.key).toBe('a');
    });
    expect(b.store.log.slice(0, 6)).toEqual(
      ['a', 'b', 'c'].flatMap((key) => [`acquire ${key}`, `granted ${key}`]),
    );
    expect(b.store.log.slice(6)).toEqual(['release c', 'release b', 'release a']);
  });

  it('are ordered by UTF-16 units, the same in every locale', async () => {
    const lock = await b.service.acquire(['ä', 'Z', 'a', '10', '9']);
    expect(lock.keys).toEqual(['10', '9', 'Z', 'a', 'ä']);
    await lock.release();
  });

  it('are ordered, and taken once, by the name under which the store keeps them', async () => {
    b.store.encode = (key) => key.toLowerCase().split('').reverse().join('');
    const lock = await b.service.acquire(['xA', 'bz', 'Xa', 'XA']);
    expect(lock.keys).toEqual(['xA', 'bz']);
    await lock.release();
  });

  it('with a leaseTime are leased for it from when all are held, however long the call waited for the last', async () => {
    fakeTime();
    const [leaseTime, wait] = [400, 500];
    const other = await b.service.acquire('b');
    const both = b.service.acquire(['a', 'b'], { leaseTime });
    await jest.advanceTimersByTimeAsync(wait);
    await other.release();
    const lock = await both;
    expect(lock.state).toBe('held');
    expect(lock.remaining()).toBeGreaterThan(leaseTime / 2);
    const next = b.service.acquire('a');
    const lost = abortsOf(lock.signal);
    await jest.advanceTimersByTimeAsync(leaseTime + 10);
    await lost;
    expect(lock.state).toBe('lost');
    // The lease is fixed for others, too: whoever waits is served.
    await (await next).release();
    await lock.release();
  });

  it('are all or nothing: what was taken is given back in reverse when one cannot be had', async () => {
    const other = await b.service.acquire('c');
    b.store.log.length = 0;
    const error = await rejection(b.service.acquire(['a', 'b', 'c'], { waitTime: 10 }));
    expect(error).toBeInstanceOf(LockTimeoutError);
    expect(error).toMatchObject({ key: 'c', waitTime: 10 });
    expect(b.store.log).toEqual([
      'acquire a',
      'granted a',
      'acquire b',
      'granted b',
      'acquire c',
      'release b',
      'release a',
    ]);
    await other.release();
  });

  it('share one wait time', async () => {
    const asked = recordWaitTimes(b.store);
    const a = await b.service.acquire('a');
    const both = b.service.acquire(['a', 'b'], { waitTime: 5_000 });
    await pause(100);
    await a.release();
    await (await both).release();
    // The timer may fire 1 ms early.
    expect(asked[2]).toBeLessThanOrEqual(5_000 - 99);
  });

  it('are each waited for, also when the time has elapsed before the last is asked for: that is no try', async () => {
    const waitTimes: number[] = [];
    const acquire = b.store.acquire.bind(b.store);
    b.store.acquire = async (wait) => {
      waitTimes.push(wait.waitTime);
      const grant = await acquire(wait);
      block(2);
      return grant;
    };
    await (await b.service.acquire(['a', 'b'], { waitTime: 1 })).release();
    expect(waitTimes).toEqual([1, 1]);
  });

  it('are refused as a whole when one was lost while the flow stood in line for the next', async () => {
    const other = await b.service.acquire('b');
    const both = rejection(b.service.acquire(['a', 'b']));
    await settle();
    b.store.lose('a');
    await other.release();
    expect(await both).toBeInstanceOf(LockLostError);
    expect(await b.store.held('b')).toBe(false);
  });

  it('nest where the flow holds one of them, and ask the store for the rest', async () => {
    await b.service.withLock('b', async () => {
      b.store.log.length = 0;
      await b.service.withLock(['a', 'b', 'c'], (lock) => expect(lock.keys).toEqual(['a', 'b', 'c']));
    });
    expect(b.store.log).toEqual([
      'acquire a',
      'granted a',
      'acquire c',
      'granted c',
      'release c',
      'release a',
      'release b',
    ]);
  });

  it('have a token each, and none for the whole', async () => {
    await b.service.withLock(['a', 'b'], (lock) => {
      expect(lock.token).toBeUndefined();
      expect([...lock.tokens.keys()]).toEqual(['a', 'b']);
      expect(lock.tokens.get('a')).toBe(b.store.grants.get('a')?.token);
    });
    await b.service.withLock(['a'], (lock) => expect(lock.token).toBe(lock.tokens.get('a')));
  });

  it('are lost, and their signal aborts, when one is lost', async () => {
    await b.service.withLock(['a', 'b'], (lock) => {
      const { signal } = lock;
      expect(lock.state).toBe('held');
      b.store.lose('b');
      expect(lock.state).toBe('lost');
      expect(lock.remaining()).toBe(0);
      expect(signal.reason).toMatchObject({ code: 'LOST', key: 'b' });
      expect(() => lock.assertHeld()).toThrow(LockLostError);
    });
  });

  it('are uncertain when one is', async () => {
    await b.service.withLock(['a', 'b'], (lock) => {
      b.store.grants.get('b')?.lease.suspect();
      expect(lock.state).toBe('uncertain');
      lock.assertHeld();
      b.store.lose('a');
      expect(lock.state).toBe('lost');
    });
  });

  it('have the smallest remaining time of all', async () => {
    await b.service.withLock('a', () =>
      b.service.withLock(['a', 'b'], (lock) => expect(lock.remaining()).toBeLessThanOrEqual(5_000), {
        leaseTime: 5_000,
      }),
    );
  });

  it('do not follow the outer hold after their release, whether their signal was asked for before or not', async () => {
    await b.service.withLock(['a', 'b'], async () => {
      const read = await b.service.acquire(['a', 'b']);
      const { signal: early } = read;
      await read.release();
      const inner = await b.service.acquire(['a', 'b']);
      await inner.release();
      const { signal } = inner;
      const unread = await b.service.acquire('a');
      await unread.release();
      b.store.lose('a');
      for (const { aborted } of [early, signal, unread.signal]) expect(aborted).toBe(false);
      expect(read.state).toBe('released');
    });
  });
});
