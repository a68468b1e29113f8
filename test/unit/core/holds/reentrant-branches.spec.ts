import { jest } from '@jest/globals';
import {
  LockAbortedError,
  LockLostError,
  LockQueueFullError,
  LockTimeoutError,
} from '../../../../lib/core/errors/errors.js';
import { benchForEach, fakeTime, leftovers, outcome, rejection, settle } from '../support.js';

const b = benchForEach();

afterEach(() => void jest.useRealTimers());

/** The process stands still, for so long (ms) that no timer of it fires. */
const standStill = (ms: number): unknown => jest.setSystemTime(Date.now() + ms);

describe('branches of one flow', () => {
  it('are busy for a try while another branch holds', async () => {
    await b.service.withLock('k', async () => {
      const first = await b.service.tryAcquire('k');
      expect(first).toBeDefined();
      const onQueued = (): void => {
        throw new Error('a try is never in line');
      };
      expect(await b.service.tryAcquire('k', { onQueued })).toBeUndefined();
      expect(b.warnings).toEqual([]);
      await first?.release();
      const third = await b.service.tryAcquire('k');
      expect(third).toBeDefined();
      await third?.release();
    });
    expect(b.store.acquires).toBe(1);
  });

  it('leave the line of their own flow with a LockTimeoutError that names who is in the way', async () => {
    await b.service.withLock('k', async () => {
      const first = await b.service.acquire('k', { label: 'Orders.pay' });
      const second = b.service.acquire('k', { waitTime: 5_000 });
      const error = await rejection(b.service.acquire('k', { waitTime: 10 }));
      expect(error).toBeInstanceOf(LockTimeoutError);
      expect(error).toMatchObject({ key: 'k', waitTime: 10, blockedBy: { holder: 'Orders.pay', ahead: 1 } });
      await first.release();
      await (await second).release();
    });
  });

  it('wait no longer in all, if they ask again because the hold around them has ended', async () => {
    fakeTime();
    const { service } = b;
    await service.withLock('k', async () => {
      const around = await service.acquire('k');
      const first = await around.run(() => service.acquire('k'));
      const second = around.run(() => rejection(service.acquire('k', { waitTime: 400 })));
      await jest.advanceTimersByTimeAsync(300);
      const released = around.release(); // when what it runs has ended
      expect(await outcome(second)).toBe('pending');
      // From anew it would be 400 more. The timers may rest for 5 ms.
      await jest.advanceTimersByTimeAsync(105);
      expect(await outcome(second)).toMatchObject({ code: 'WAIT_TIMEOUT', waitTime: 400 });
      await Promise.all([released, first.release()]);
    });
  });

  it('leave the line of their own flow when their signal aborts', async () => {
    await b.service.withLock('k', async () => {
      const first = await b.service.acquire('k');
      const controller = new AbortController();
      const second = b.service.acquire('k', { signal: controller.signal });
      const third = b.service.acquire('k');
      controller.abort(new Error('gone'));
      const error = await rejection(second);
      expect(error).toBeInstanceOf(LockAbortedError);
      expect(error.cause).toEqual(new Error('gone'));
      expect(await outcome(third)).toBe('pending');
      await first.release();
      await (await third).release();
    });
  });

  it('are told their place, and refused beyond maxQueue', async () => {
    await b.service.withLock('k', async () => {
      const places: number[] = [];
      const onQueued = (position: number): void => void places.push(position);
      const first = await b.service.acquire('k', { onQueued });
      const others = [b.service.acquire('k', { onQueued }), b.service.acquire('k', { onQueued })];
      expect(await rejection(b.service.acquire('k', { maxQueue: 2 }))).toBeInstanceOf(LockQueueFullError);
      expect(places).toEqual([0, 1]);
      await first.release();
      for (const other of others) await (await other).release();
    });
  });

  it('are refused in the line of a nested hold too when the lock is lost', async () => {
    await b.service.withLock('k', () =>
      b.service.withLock('k', async () => {
        const first = await b.service.acquire('k');
        const waiting = b.service.acquire('k');
        b.store.lose('k');
        expect(await rejection(waiting)).toBeInstanceOf(LockLostError);
        expect(leftovers(b.engine)).toMatchObject({ waits: 0, timed: 0 });
        await first.release();
      }),
    );
  });
});

describe('a branch in line', () => {
  it('is refused, not served, when the lease ran out unnoticed in a blocked event loop', async () => {
    fakeTime();
    await b.service.withLock(
      'k',
      async () => {
        const first = await b.service.acquire('k');
        const second = rejection(b.service.acquire('k'));
        standStill(1_050);
        await first.release();
        expect(await second).toBeInstanceOf(LockLostError);
      },
      { leaseTime: 1_000 },
    );
  });

  it('is refused, not served, when such a lease is found at the end of a branch that gave up another key', async () => {
    fakeTime();
    const other = await b.service.acquire('l');
    await b.service.withLock(
      'k',
      async () => {
        const first = rejection(b.service.acquire(['k', 'l'], { waitTime: 500 }));
        const second = rejection(b.service.acquire('k'));
        await settle();
        standStill(1_050);
        // The wait for the other key is over, and so is the lease, before the section could look.
        await jest.advanceTimersByTimeAsync(500);
        expect(await first).toBeInstanceOf(LockTimeoutError);
        expect(await second).toBeInstanceOf(LockLostError);
      },
      { leaseTime: 1_000 },
    );
    await other.release();
  });
});
