import { jest } from '@jest/globals';
import { type FairLockError, LockLostError } from '../../../../lib/core/errors/errors.js';
import type { FairLock } from '../../../../lib/core/holds/fair-lock.js';
import { abortsOf, deferred, pause } from '../../../support/waiting.js';
import { benchForEach, leftovers, settle } from '../support.js';

const b = benchForEach();

describe('maxHold', () => {
  it('aborts the signal with a LockLostError and ends the renewing; the lock is held until its lease runs out', async () => {
    const lock = await b.service.acquire('k', { maxHold: 10, leaseTime: 60_000 });
    const aborted = deferred<unknown>();
    const renewingStopped = jest.fn();
    b.store.grants.get('k')?.lease.onRenewingStopped(renewingStopped);
    lock.signal.addEventListener('abort', () => aborted.resolve(lock.signal.reason));
    const reason = await aborted.promise;
    expect(reason).toBeInstanceOf(LockLostError);
    expect((reason as FairLockError).details).toContain('held for longer than maxHold (10 ms)');
    expect(lock.state).toBe('held');
    expect(renewingStopped).toHaveBeenCalledTimes(1);
    expect(b.warnings).toEqual([expect.stringContaining('"k" will be LOST when its lease expires')]);
    await lock.release();
  });

  it('keeps the lock in memory, too, until the section has ended, or for the rest of a lease', async () => {
    b.renew({ lease: 60_000 });
    const ended: string[] = [];
    const section = b.service.withLock(
      'k',
      async (lock) => {
        await abortsOf(lock.signal);
        await settle();
        ended.push('section', lock.state);
      },
      { maxHold: 10 },
    );
    await b.service.withLock('k', () => ended.push('next'));
    await section;
    expect(ended).toEqual(['section', 'held', 'next']);

    b.renew({ lease: 50 });
    const lock = await b.service.acquire('k', { maxHold: 10 });
    await (await b.service.acquire('k')).release();
    expect(lock.state).toBe('lost');
    await lock.release();
  });

  it('loses the lock immediately where a lease has no end, so a hung section cannot hold it forever', async () => {
    const hung = deferred();
    const section = b.service.withLock('k', () => hung.promise, { maxHold: 10 });
    await (await b.service.acquire('k')).release();
    expect(b.warnings).toEqual([expect.stringContaining('held for longer than maxHold (10 ms)')]);
    hung.resolve();
    await section;
  });

  it('counts from the beginning of the section: a call for several keys may wait longer for the next one', async () => {
    const blocker = await b.service.acquire('b');
    const begun = deferred<boolean>();
    const section = b.service.withLock(
      ['a', 'b'],
      async (lock) => {
        begun.resolve(lock.signal.aborted);
        await abortsOf(lock.signal);
      },
      { maxHold: 20 },
    );
    while (!(await b.store.held('a'))) await new Promise(setImmediate);
    await pause(60);
    await blocker.release();
    expect(await Promise.race([begun.promise, section])).toBe(false);
    await section;
  });

  it('ends when the lock is lost', async () => {
    const lock = await b.service.acquire('k', { maxHold: 60_000 });
    b.store.lose('k');
    expect(leftovers(b.engine)).toMatchObject({ timed: 0 });
    await lock.release();
  });

  it.each(['at once', 'after another branch', 'with another key'])(
    'of a nested request that begins %s bounds it, and with it the holds around it',
    async (when) => {
      await b.service.withLock(
        'k',
        async (outer) => {
          const branch = when === 'after another branch' && b.service.withLock('k', settle);
          const keys = when === 'with another key' ? ['k', 'l'] : 'k';
          const inside = (inner: FairLock): Promise<void> => abortsOf(inner.signal);
          await b.service.withLock(keys, inside, { maxHold: 10, label: 'Orders.pay' });
          await branch;
          expect(outer.signal.reason).toMatchObject({
            details: expect.stringContaining(
              'Orders.pay nested in it took longer than its maxHold (10 ms)',
            ) as string,
          });
        },
        { maxHold: 60_000, leaseTime: 60_000 },
      );
      expect(b.warnings).toContainEqual(expect.stringContaining('"k" will be LOST when its lease expires'));
    },
  );

  it('of a nested request that has ended bounds nothing', async () => {
    await b.service.withLock('k', async (lock) => {
      await b.service.withLock('k', () => undefined, { maxHold: 5 });
      await pause(20);
      expect(lock.signal.aborted).toBe(false);
    });
  });
});
