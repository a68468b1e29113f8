import { AsyncResource } from 'node:async_hooks';
import {
  ClientGoneError,
  LockDeadlockError,
  LockLostError,
  LockTimeoutError,
} from '../../../../lib/core/errors/errors.js';
import type { FairLock } from '../../../../lib/core/holds/fair-lock.js';
import { deferred, pause } from '../../../support/waiting.js';
import { bench, benchForEach, forClientOf, outcome, rejection } from '../support.js';

const b = benchForEach();

describe('a nested request of the same flow', () => {
  it('does not wait for itself where `run` enters the outer hold again inside of a nested one', async () => {
    const lock = await b.service.acquire('k');
    const innermost = b.service.withLock.bind(b.service, 'k', () => 'served', { waitTime: Infinity });
    const again = (): Promise<unknown> => b.service.withLock('k', () => lock.run(innermost));
    expect(await outcome(lock.run(() => b.service.withLock('k', again)))).toBe('served');
    await lock.release();
  });

  it('costs the store no call, however deep, and past locks on other keys', async () => {
    const deepest = (): Promise<void> =>
      b.service.withLock('k', () => b.service.withLock('l', () => undefined));
    await b.service.withLock('k', () => b.service.withLock('k', () => b.service.withLock('l', deepest)));
    expect(b.store.acquires).toBe(2);
  });

  it('shares the token of the outer hold and its end, and counts', async () => {
    await b.service.withLock('k', async (outer) => {
      expect(outer.holdCount).toBe(1);
      await b.service.withLock('k', (inner) => {
        expect(inner.token).toBe(outer.token);
        expect([inner.holdCount, outer.holdCount]).toEqual([2, 2]);
        expect([inner.signal.aborted, outer.signal.aborted]).toEqual([false, false]);
      });
      expect(outer.holdCount).toBe(1);
      await b.service.withLock('k', (inner) => {
        b.store.lose('k');
        expect(inner.signal.reason).toBe(outer.signal.reason);
        expect(inner.signal.reason).toBeInstanceOf(LockLostError);
      });
    });
  });

  it('throws LockLostError inside a hold that is lost', async () => {
    await b.service.withLock('k', async () => {
      b.store.lose('k');
      expect(await rejection(b.service.withLock('k', () => 'ran'))).toBeInstanceOf(LockLostError);
      expect(await rejection(b.service.acquire('k'))).toBeInstanceOf(LockLostError);
      expect(await rejection(b.service.tryAcquire('k'))).toBeInstanceOf(LockLostError);
    });
  });

  it('with reentrant: false is a LockDeadlockError that names the deadlock', async () => {
    await b.service.withLock('order:42', async () => {
      const error = await rejection(b.service.acquire('order:42', { reentrant: false }));
      expect(error).toBeInstanceOf(LockDeadlockError);
      expect(error.details).toContain('"order:42"');
      expect(error.details).toContain(
        'it would wait for itself. Remove reentrant: false, or ask for it after the outer call has ended.',
      );
      await b.service.withLock('order:43', () => undefined, { reentrant: false });
    });
  });

  it('is refused by an engine that is not reentrant, unless it says otherwise', async () => {
    b.renew({ reentrant: false });
    await b.service.withLock('k', async () => {
      expect(await rejection(b.service.acquire('k'))).toBeInstanceOf(LockDeadlockError);
      await b.service.withLock('k', () => undefined, { reentrant: true });
    });
  });

  it('of another engine is another lock', async () => {
    const other = bench();
    await b.service.withLock('k', () => other.service.withLock('k', () => undefined));
    expect(other.store.acquires).toBe(1);
    await other.engine.close();
  });

  it('does not change the lease of the outer hold by its leaseTime', async () => {
    await b.service.withLock('k', async () => {
      await b.service.withLock('k', (inner) => expect(inner.remaining()).toBe(Infinity), { leaseTime: 1 });
    });
  });
});

it('a job that a queue in the process runs inside a hold is nested in it, but not where it is bound to the flow that added it', async () => {
  const pay = async (): Promise<string> => {
    await using lock = await b.service.tryAcquire('k');
    return lock ? 'inside' : 'busy';
  };
  const bound = AsyncResource.bind(pay);
  await b.service.withLock('k', async () => {
    expect([await pay(), await bound()]).toEqual(['inside', 'busy']);
  });
});

describe('a manual acquire', () => {
  it('followed by a request of the same flow tells it that this process holds the lock, and since when', async () => {
    const lock = await b.service.acquire('k');
    await pause(30);
    const error = await rejection(b.service.withLock('k', () => undefined, { waitTime: 20 }));
    expect(error).toBeInstanceOf(LockTimeoutError);
    const { blockedBy, details } = error as LockTimeoutError;
    expect(blockedBy.heldHereFor).toBeGreaterThanOrEqual(45);
    expect(details).toMatch(
      /This process already holds it \(for \d+ ms\), so the caller may be waiting for itself\. That happens after acquire\(\)/,
    );
    expect(details).toContain('Use withLock(), or wrap the code in lock.run()');
    await lock.release();
  });

  it('is no cause for a request that waits for a section of the same process', async () => {
    const [begun, end] = [deferred(), deferred()];
    const section = b.service.withLock('k', () => {
      begun.resolve();
      return end.promise;
    });
    await begun.promise;
    const error = await rejection(b.service.acquire('k', { waitTime: 20 }));
    expect((error as LockTimeoutError).blockedBy.heldHereFor).toBeUndefined();
    expect(error.details).not.toContain('acquire()');
    end.resolve();
    await section;
  });

  it('inside a section on the same key is nested in it, and keeps the lock until it is released', async () => {
    let lock: FairLock | undefined;
    await b.service.withLock('k', async () => {
      lock = await b.service.acquire('k');
      expect(lock.holdCount).toBe(2);
    });
    expect(b.store.acquires).toBe(1);
    expect(lock?.state).toBe('held');
    expect(await b.store.held('k')).toBe(true);
    await lock?.release();
    expect(await b.store.held('k')).toBe(false);
  });
});

it('work that begins in one request and ends in another holds the lock between them, nests by `run` in each, and excludes all others until its release', async () => {
  const first = new AbortController();
  const lock = await forClientOf(first.signal, () => b.service.acquire('k'));
  first.abort(new ClientGoneError());
  expect(lock.state).toBe('held');
  const stranger = b.service.acquire('k');
  const second = forClientOf(new AbortController().signal, () =>
    lock.run(() =>
      b.service.withLock('k', async (step) => {
        expect([step.token, step.holdCount]).toEqual([lock.token, 2]);
        expect(await outcome(stranger)).toBe('pending');
        return 'served';
      }),
    ),
  );
  expect(await second).toBe('served');
  expect(await outcome(stranger)).toBe('pending');
  await lock.release();
  await (await stranger).release();
});

describe('the current hold', () => {
  it('is the innermost open one of the running flow, by key or of all', async () => {
    expect(b.service.current()).toBeUndefined();
    await b.service.withLock('a', async (a) => {
      await b.service.withLock('b', async (inner) => {
        expect(b.service.current()).toBe(inner);
        expect(b.service.current('b')).toBe(inner);
        expect(b.service.current('a')).toBe(a);
        expect(b.service.current('c')).toBeUndefined();
        await b.service.withLock('a', (again) => expect(b.service.current('a')).toBe(again));
      });
      expect(b.service.current()).toBe(a);
    });
    expect(b.service.current()).toBeUndefined();
  });

  it('is not one of another engine', async () => {
    const other = bench();
    await b.service.withLock('k', (lock) =>
      other.service.withLock('x', () => {
        expect(b.service.current()).toBe(lock);
        expect(other.service.current('k')).toBeUndefined();
      }),
    );
    await other.engine.close();
  });

  it('is not one that has been released', async () => {
    await b.service.withLock('a', (a) =>
      b.service.withLock('b', async (lock) => {
        await lock.release();
        expect(b.service.current('b')).toBeUndefined();
        expect(b.service.current()).toBe(a);
      }),
    );
  });

  it('is that of `acquire` inside its `run`, each time', async () => {
    const lock = await b.service.acquire('k');
    expect(b.service.current()).toBeUndefined();
    for (let i = 0; i < 2; i += 1) {
      expect(lock.run(() => b.service.current('k'))).toBe(lock);
      await lock.run(() => b.service.withLock('k', () => undefined));
    }
    await lock.release();
    expect(b.service.current('k')).toBeUndefined();
    expect(b.store.acquires).toBe(1);
  });
});
