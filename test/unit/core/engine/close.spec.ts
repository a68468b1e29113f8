import { LockNotHeldError, LockShuttingDownError } from '../../../../lib/core/errors/errors.js';
import { deferred } from '../../../support/waiting.js';
import { bench, leftovers, NOTHING, rejection, settle, type Bench } from '../support.js';
import { Wait } from '../../../../lib/core/port/wait.js';

let b: Bench;
beforeEach(() => (b = bench()));
afterEach(() => b.engine.close());

describe('close', () => {
  it('aborts the signals of the remaining holds, gives them back, then closes the store', async () => {
    const lock = await b.service.acquire('k');
    const { signal } = lock;
    b.store.log.length = 0;
    await b.engine.close();
    expect(signal.reason).toBeInstanceOf(LockShuttingDownError);
    expect(b.store.log).toEqual(['release k', 'close']);
    expect(lock.state).toBe('released');
    expect(() => lock.assertHeld()).toThrow(LockNotHeldError);
    await lock.release();
  });

  it('refuses waiting and new requests, inside a hold or not', async () => {
    const waits: Promise<Error>[] = [];
    const end = deferred();
    const section = b.service.withLock('k', async () => {
      const branch = await b.service.acquire('k');
      waits.push(rejection(b.service.acquire('k')));
      await end.promise;
      await branch.release(); // to nest, it would not have to wait
      waits.push(rejection(b.service.acquire('k')));
      return 'own result';
    });
    waits.push(rejection(b.service.acquire('k')));
    await settle();
    await b.engine.close();
    end.resolve();
    expect(await section).toBe('own result');
    waits.push(rejection(b.service.acquire('k')));
    expect((await Promise.all(waits)).map((error) => error.constructor)).toEqual(
      waits.map(() => LockShuttingDownError),
    );
  });

  it('grants nothing to a call in the queue, though the end of one before it would let it in', async () => {
    const reader = await b.service.acquire('k', { mode: 'read' });
    const begun: string[] = [];
    const waits = [
      rejection(b.service.withLock('k', () => void begun.push('writer'))),
      rejection(b.service.withLock('k', () => void begun.push('reader'), { mode: 'read' })),
    ];
    await settle();
    b.engine.beginShutdown();
    for (const error of await Promise.all(waits)) expect(error).toBeInstanceOf(LockShuttingDownError);
    expect(begun).toEqual([]);
    await reader.release();
  });

  it('refuses a call whose section has not begun, however shortly before its lock was granted', async () => {
    for (let turns = 0; turns < 10; turns++) {
      const { service, engine } = bench();
      const holder = await service.acquire('k');
      const next = service.withLock('k', () => 'begun').catch((error: Error) => error.constructor);
      await settle();
      void holder.release();
      for (let turn = 0; turn < turns; turn++) await Promise.resolve();
      await engine.close();
      expect(['begun', LockShuttingDownError]).toContain(await next);
    }
  });

  it('hands back a grant that comes too late', async () => {
    const late = deferred();
    const acquire = b.store.acquire.bind(b.store);
    b.store.acquire = async (wait) => {
      const grant = await acquire(new Wait(wait));
      await late.promise;
      return grant;
    };
    b.store.close = () => Promise.resolve();
    const asked = rejection(b.service.acquire('k'));
    await b.engine.close();
    late.resolve();
    expect(await asked).toBeInstanceOf(LockShuttingDownError);
    expect(await b.store.held('k')).toBe(false);
  });

  it('is one and the same however often it is called, and never rejects', async () => {
    b.store.close = () => Promise.reject(new Error('no'));
    const first = b.engine.close();
    expect(b.engine.close()).toBe(first);
    await first;
    expect(b.warnings).toEqual([
      'The connection to the lock store failed to close. See nestjs-fair-lock/docs/production.md#shutdown.',
    ]);
  });

  it('leaves no timer behind', async () => {
    b = bench({ drainTimeout: 60_000, maxHold: 60_000 });
    const lock = await b.service.acquire('a');
    let inBranch: Promise<Error> | undefined;
    await b.service.withLock('k', async () => {
      const branch = await b.service.acquire('k');
      inBranch = rejection(b.service.acquire('k'));
      await settle();
      b.engine.beginShutdown();
      // Two holds, a wait and the drain time.
      expect(leftovers(b.engine)).toMatchObject({ timed: 4 });
      await b.engine.close();
      expect(leftovers(b.engine)).toMatchObject({ timed: 0 });
      await branch.release();
    });
    expect(await inBranch).toBeInstanceOf(LockShuttingDownError);
    await lock.release();
    expect(leftovers(b.engine)).toEqual(NOTHING);
  });
});
