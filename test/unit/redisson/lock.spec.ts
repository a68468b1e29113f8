import { jest } from '@jest/globals';
import type { Grant } from '../../../lib/core/port/lock-store.js';
import { LEASE, LockUnderTest } from './lock-under-test.js';

describe('a lock of the redisson store', () => {
  let lock: LockUnderTest;
  beforeEach(() => {
    jest.useFakeTimers();
    lock = new LockUnderTest();
  });
  afterEach(() => void jest.useRealTimers());

  /** A request that holds the lock. */
  async function holder(id: string, leaseTime?: number): Promise<Grant> {
    const wait = lock.request(id, leaseTime === undefined ? {} : { leaseTime });
    await lock.granted(leaseTime);
    return wait.promise;
  }

  describe('asking', () => {
    test('Redis gets the wait time of the call, to the millisecond, at whatever time it comes', () => {
      const now = jest.spyOn(performance, 'now');
      for (const [at, waitTime] of [
        [4_000.7, 60_000],
        [65_000.1, 60_000],
        [0.1, 20],
        [123_456.789, 300_000],
        [7.3, 0.5],
      ] as const) {
        now.mockReturnValue(at);
        lock.request('a', { waitTime });
        expect(lock.waits.at(-1)).toBe(Math.ceil(waitTime));
      }
      now.mockRestore();
    });

    test('what happens while a request asks makes it ask once more', async () => {
      await lock.waiter('a');
      for (let i = 0; i < 3; i += 1) lock.lock.woken('a');
      expect(lock.commands).toEqual(['acquire a']);
      await lock.queued({ entered: false });
      expect(lock.commands).toEqual(['acquire a']);
      await lock.queued({ entered: false });
      expect(lock.commands).toEqual([]);
    });

    test('the first in line, and only it, looks every three seconds, and when the lease of the holder ends', async () => {
      await lock.waiter('a');
      await lock.waiter('b');
      await lock.pass(2_990);
      expect(lock.commands).toEqual([]);
      await lock.pass(20);
      expect(lock.commands).toEqual(['acquire a']);
      await lock.queued({ entered: false, left: 200 });
      await lock.pass(220);
      expect(lock.commands).toEqual(['acquire a']);
    });

    test('a lock that is free for a head of another client is looked after in pauses that double', async () => {
      await lock.waiter('a');
      lock.lock.woken('a');
      for (const pause of [50, 100, 200]) {
        await lock.queued({ entered: false, holder: undefined, left: 60_000 });
        await lock.pass(pause - 10);
        expect(lock.commands).toEqual([]);
        await lock.pass(20);
        expect(lock.commands).toEqual(['acquire a']);
      }
    });

    test('a request in line survives a failure and asks again; one that is not in line is refused', async () => {
      const [a, b] = [await lock.waiter('a'), lock.request('b')];
      await lock.fail('none');
      await expect(b.promise).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
      lock.lock.woken('a');
      await lock.fail('none');
      expect(lock.commands).toEqual([]);
      await lock.pass(110);
      expect(lock.commands).toEqual(['acquire a']);
      expect(a.inLine).toBe(true);
    });
  });

  describe('places', () => {
    test('a request that lost its place stands behind the others, an operator is told, and each asks once for its place', async () => {
      for (const id of ['a', 'b', 'c']) await lock.waiter(id);
      await lock.pass(1);
      lock.lock.woken('a');
      await lock.queued({ entered: true });
      expect(lock.warnings).toMatchObject([expect.stringContaining('lost its place')]);
      expect(lock.commands).toEqual(['acquire b', 'acquire c']);
      await lock.queued({ entered: false });
      await lock.queued({ entered: false });
      expect(lock.commands).toEqual([]);
      lock.lock.look();
      expect(lock.commands).toEqual(['acquire b']);
    });

    test('a grant that counts fewer waiters than stand here makes them ask for their places', async () => {
      for (const id of ['a', 'b', 'c']) await lock.waiter(id);
      await lock.pass(1);
      lock.lock.woken('a');
      await lock.granted(LEASE, 2);
      expect(lock.commands).toEqual([]);
      lock.lock.woken('b');
      await lock.granted(LEASE, 0);
      expect(lock.commands).toEqual(['acquire c']);
    });
  });

  describe('what comes after a request has ended', () => {
    test('a grant under way is not entered, but given back', async () => {
      const wait = lock.request('a');
      wait.abort();
      expect(lock.commands).toEqual(['acquire a', 'leave a']);
      await lock.granted();
      await expect(wait.promise).rejects.toMatchObject({ code: 'ABORTED' });
      expect(lock.commands).toEqual(['leave a', 'leave a']);
    });

    test('a late copy of its acquire may take the lock: it leaves again after pauses that double, until a lease has passed', async () => {
      const wait = lock.request('a');
      await lock.reply({ status: 'granted', left: LEASE, waiting: 0, grantedAt: 0, unanswered: true });
      await lock.pass(500);
      void (await wait.promise).release();
      await lock.reply({ woken: undefined });
      expect(lock.commands).toEqual([]);
      for (const pause of [500, 2_000, 4_000, 8_000, 16_000, 32_000]) {
        await lock.pass(pause - 10);
        expect(lock.commands).toEqual([]);
        await lock.pass(20);
        expect(lock.commands).toEqual(['leave a']);
        await lock.reply({ woken: undefined });
      }
      await lock.pass(2 * LEASE);
      expect(lock.commands).toEqual([]);
    });
  });

  describe('the grant', () => {
    test('a lease counts from the sending of its command, less a margin, and so does a renewal', async () => {
      const wait = lock.request('a');
      await lock.pass(1_000);
      await lock.granted();
      const { lease } = await wait.promise;
      expect(lease.remaining()).toBe(0.9 * LEASE - 1_000);
      await lock.pass(LEASE / 3);
      expect(lock.commands).toEqual(['renew a']);
      await lock.pass(1_000);
      await lock.reply({ renewed: true });
      expect(lease.remaining()).toBeGreaterThan(0.9 * LEASE - 1_100);
      expect(lease.remaining()).toBeLessThanOrEqual(0.9 * LEASE - 1_000);
    });

    test('a renewal that failed makes the lease uncertain, and is tried again soon, unless renewing has stopped meanwhile', async () => {
      const { lease } = await holder('a');
      await lock.pass(LEASE / 3 + 10);
      await lock.fail('unknown');
      expect(lease.state).toBe('uncertain');
      await lock.pass(110);
      expect(lock.commands).toEqual(['renew a']);
      lease.stopRenewing('it was held for too long');
      await lock.fail('unknown');
      await lock.pass(LEASE / 2);
      expect(lock.commands).toEqual([]);
      await lock.pass(LEASE / 2);
      expect(lease.state).toBe('lost');
    });

    test('a lease that runs out by the local clocks is lost, the first in line looks, and the end of the section gives back', async () => {
      const grant = await holder('a', 5_000);
      await lock.waiter('b');
      await lock.pass(3_010); // a look, as every three seconds
      await lock.queued({ entered: false, left: Infinity });
      await lock.pass(1_480);
      expect(grant.lease.signal.aborted).toBe(false);
      expect(lock.commands).toEqual([]);
      await lock.pass(20);
      expect(grant.lease.signal.aborted).toBe(true);
      expect(lock.commands).toEqual(['acquire b']);
      void grant.release();
      expect(lock.commands).toContain('release a');
    });

    test('a grant whose reply took longer than its lease is given back, and the request asks anew', async () => {
      const wait = lock.request('a');
      await lock.pass(LEASE);
      await lock.granted();
      expect(lock.commands).toEqual(['leave a']);
      await lock.reply({});
      expect(lock.commands).toEqual(['acquire a']);
      await lock.granted();
      expect((await wait.promise).lease.state).toBe('held');
    });

    test('one that was taken by force before its reply was applied is not entered; the request asks Redis', async () => {
      const wait = lock.request('a', { leaseTime: 60_000 });
      lock.lock.forced('a');
      await lock.granted(60_000);
      expect(wait.inLine).toBe(true);
      expect(lock.commands).toEqual(['acquire a']);
      await lock.granted(60_000);
      expect((await wait.promise).lease.state).toBe('held');
    });

    test('a release that is not answered need not be waited for longer than a command may take', async () => {
      const released = jest.fn();
      void (await holder('a')).release().then(released);
      await lock.pass(990);
      expect(released).not.toHaveBeenCalled();
      await lock.pass(20);
      expect(released).toHaveBeenCalled();
    });
  });
});
