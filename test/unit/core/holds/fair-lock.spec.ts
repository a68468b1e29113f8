import { jest } from '@jest/globals';
import { LockLostError, LockNotHeldError } from '../../../../lib/core/errors/errors.js';
import { block, deferred, eventually, SOON } from '../../../support/waiting.js';
import { benchForEach, outcome, rejection, settle } from '../support.js';

const MINUTE = 60_000;

const b = benchForEach();

describe('the handle', () => {
  it('says what it holds', async () => {
    const lock = await b.service.acquire('k');
    expect(lock).toMatchObject({ key: 'k', keys: ['k'], state: 'held', holdCount: 1 });
    expect(lock.token).toBe(b.store.grants.get('k')?.token);
    expect(lock.tokens).toEqual(new Map([['k', lock.token]]));
    expect(lock.remaining()).toBe(Infinity);
    lock.assertHeld();
    await lock.release();
  });

  it('is released once, however often that is asked', async () => {
    const lock = await b.service.acquire('k');
    const first = lock.release();
    expect(lock.release()).toBe(first);
    await first;
    const next = await b.service.acquire('k');
    await lock.release();
    expect(next.state).toBe('held');
    await next.release();
  });

  it('says after the release that it holds nothing, and its signal does not abort', async () => {
    const lock = await b.service.acquire('k');
    const { signal } = lock;
    await lock.release();
    expect(lock).toMatchObject({ state: 'released', holdCount: 0 });
    expect(lock.remaining()).toBe(0);
    expect(() => lock.assertHeld()).toThrow(LockNotHeldError);
    expect(signal.aborted).toBe(false);
  });

  it('says that it was lost, and goes on saying so after the release', async () => {
    const lock = await b.service.acquire('k');
    const { signal } = lock;
    b.store.lose('k');
    const check = (): void => {
      expect(lock.state).toBe('lost');
      expect(lock.remaining()).toBe(0);
      expect(() => lock.assertHeld()).toThrow(LockLostError);
      expect(signal.reason).toBeInstanceOf(LockLostError);
    };
    check();
    await lock.release();
    check();
  });

  it('does not care for what happens to the lease after its own release', async () => {
    await b.service.withLock('k', async () => {
      const inner = await b.service.acquire('k');
      await inner.release();
      expect(inner.remaining()).toBe(0);
      b.store.lose('k');
      expect(inner.state).toBe('released');
      expect(() => inner.assertHeld()).toThrow(LockNotHeldError);
    });
  });

  it('may be released by the listener that learns, at the release, that it was lost', async () => {
    const lock = await b.service.acquire('k', { leaseTime: MINUTE });
    lock.signal.addEventListener('abort', () => void lock.release());
    // A lease goes by the clock that has moved more.
    const clock = jest.spyOn(Date, 'now').mockReturnValue(Date.now() + MINUTE);
    await lock.release();
    clock.mockRestore();
    expect(lock).toMatchObject({ state: 'lost', holdCount: 0 });
    expect(b.store.log.filter((entry) => entry === 'release k')).toHaveLength(1);
  });

  it('lets any number of calls listen to its signal without a listener-leak warning', async () => {
    for (const keys of ['k', ['k', 'l']]) {
      const lock = await b.service.acquire(keys);
      for (let n = 0; n < 50; n += 1) lock.signal.addEventListener('abort', () => undefined);
      // The warning itself does not reach a test's process object; Node notes here that it gave it.
      const warned = Object.getOwnPropertySymbols(lock.signal).find(
        ({ description }) => description === 'events.maxEventTargetListenersWarned',
      );
      expect(warned && Reflect.get(lock.signal, warned)).toBe(false);
      await lock.release();
    }
  });
});

describe('run', () => {
  it('refuses code after the release, and after a loss', async () => {
    const released = await b.service.acquire('k');
    await released.release();
    const lost = await b.service.acquire('lost');
    await b.service.forceRelease('lost');
    const code = jest.fn();
    expect(() => released.run(code)).toThrow(expect.objectContaining({ code: 'NOT_HELD' }) as Error);
    expect(() => lost.run(code)).toThrow(expect.objectContaining({ code: 'LOST' }) as Error);
    expect(code).not.toHaveBeenCalled();
    await lost.release();
  });

  it('keeps the lock until its code has ended, though it is released meanwhile: only that code is inside then', async () => {
    const gate = deferred();
    const lock = await b.service.acquire('k');
    const work = lock.run(async () => {
      await gate.promise;
      await b.service.withLock('k', () => undefined);
      lock.assertHeld();
      return lock.run(() => b.service.current());
    });
    const released = lock.release();
    expect(lock.state).toBe('released');
    expect(() => lock.run(() => undefined)).toThrow(expect.objectContaining({ code: 'NOT_HELD' }) as Error);
    const next = b.service.acquire('k');
    expect(await outcome(Promise.race([released, next]))).toBe('pending');
    gate.resolve();
    expect(await work).toBe(lock);
    await released;
    await (await next).release();
  });

  it('is waited for at the end of a block with `await using`', async () => {
    let ended = false;
    {
      await using lock = await b.service.acquire('k');
      void lock.run(async () => {
        await settle();
        ended = true;
      });
    }
    expect([ended, await b.store.held('k')]).toEqual([true, false]);
  });

  it('can release its own lock, which it keeps until it has ended', async () => {
    const lock = await b.service.acquire('k');
    await lock.run(async () => {
      await lock.release();
      expect(await b.store.held('k')).toBe(true);
    });
    await lock.release();
    expect(await b.store.held('k')).toBe(false);
  });
});

describe('withLock', () => {
  it('passes the result and the error of the section through untouched', async () => {
    const value = {};
    expect(await b.service.withLock('k', () => value)).toBe(value);
    expect(await b.service.withLock('k', async () => value)).toBe(value);
    const thrown = new Error('own');
    expect(await rejection(b.service.withLock('k', () => Promise.reject(thrown)))).toBe(thrown);
    expect(await b.store.held('k')).toBe(false);
  });

  it('has given the lock back, by the acknowledgement of the store, when its promise settles', async () => {
    const acquire = b.store.acquire.bind(b.store);
    b.store.acquire = async (request) => {
      const grant = await acquire(request);
      const release = async (): Promise<void> => {
        await settle();
        await grant.release();
      };
      return { ...grant, release };
    };
    await b.service.withLock('k', () => undefined);
    expect(await b.store.held('k')).toBe(false);
    await rejection(b.service.withLock('k', () => Promise.reject(new Error('own'))));
    expect(await b.store.held('k')).toBe(false);
    await b.service.withLock(['k', 'l'], () => undefined);
    expect(await b.store.held('k')).toBe(false);
  });

  it('lets the section go on when the lock is lost: its signal aborts, its result counts, a warning is given', async () => {
    const result = await b.service.withLock('k', async (lock) => {
      b.store.lose('k');
      expect(lock.signal.aborted).toBe(true);
      return 'own result';
    });
    expect(result).toBe('own result');
    expect(b.warnings).toEqual([expect.stringContaining('The lock "k" was lost: the test took it away')]);
  });

  it("with onLost: 'reject' rejects with the LockLostError once the section has ended, even if it succeeded", async () => {
    const end = deferred();
    let settled = false;
    const result = rejection(
      b.service.withLock(
        'k',
        () => {
          b.store.lose('k');
          return end.promise;
        },
        { onLost: 'reject' },
      ),
    ).finally(() => (settled = true));
    await eventually(() => b.warnings.length > 0, SOON, 'the warning');
    expect(settled).toBe(false);
    end.resolve();
    expect(await result).toBeInstanceOf(LockLostError);
  });

  it("with onLost: 'reject' leaves the section's own error alone", async () => {
    b.renew({ onLost: 'reject' });
    const thrown = new Error('own');
    const result = b.service.withLock('k', () => {
      b.store.lose('k');
      throw thrown;
    });
    expect(await rejection(result)).toBe(thrown);
    expect(await b.service.withLock('k', () => 'held to the end')).toBe('held to the end');
    expect(await rejection(b.service.withLock('k', () => b.store.lose('k')))).toBeInstanceOf(LockLostError);
  });

  it('finds at the release a lease that ran out while the event loop was blocked', async () => {
    const result = b.service.withLock('k', () => block(20), { leaseTime: 10, onLost: 'reject' });
    expect(await rejection(result)).toBeInstanceOf(LockLostError);
  });

  /** The process stands still after each grant, for longer than a lease of 10 ms. */
  const standStill = (): void => {
    const acquire = b.store.acquire.bind(b.store);
    b.store.acquire = async (request) => {
      const grant = await acquire(request);
      block(20);
      return grant;
    };
  };

  it.each(['acquire', 'tryAcquire'] as const)(
    'hands out no handle by %s whose lease ran out while the process stood still, and leaves nothing held',
    async (how) => {
      standStill();
      expect(await rejection(b.service[how]('k', { leaseTime: 10 }))).toBeInstanceOf(LockLostError);
      expect(await b.store.held('k')).toBe(false);
    },
  );

  it('does not begin a section whose lease ran out while the process stood still', async () => {
    standStill();
    let begun = false;
    const result = b.service.withLock('k', () => (begun = true), { leaseTime: 10 });
    expect(await rejection(result)).toBeInstanceOf(LockLostError);
    expect(begun).toBe(false);
    expect(await b.store.held('k')).toBe(false);
  });

  it('survives a logger that throws', async () => {
    b.renew({
      onWarning: () => {
        throw new Error('logger');
      },
    });
    await b.service.withLock('k', () => b.store.lose('k'));
    await (await b.service.acquire('k')).release();
  });
});
