import { runInNewContext } from 'node:vm';
import { setFlagsFromString } from 'node:v8';
import {
  LockAbortedError,
  LockDeadlockError,
  LockLostError,
  LockQueueFullError,
  LockTimeoutError,
} from '../../../lib/core/errors.js';
import type { FairLock } from '../../../lib/core/fair-lock.js';
import { currentScope } from '../../../lib/core/hold-scope.js';
import { block, deferred, pause } from '../../support/waiting.js';
import {
  bench,
  leftovers,
  NOTHING,
  outcome,
  recordWaitTimes,
  rejection,
  settle,
  type Bench,
} from './support.js';

let b: Bench;
beforeEach(() => (b = bench()));
afterEach(async () => {
  expect(leftovers(b.engine)).toEqual(NOTHING);
  await b.engine.close();
});

describe('a nested request of the same flow', () => {
  it('does not wait for itself, across async functions', async () => {
    const inner = async (): Promise<string> => {
      await pause(1);
      return await b.engine.withLock('k', async () => 'inside');
    };
    expect(await b.engine.withLock('k', inner)).toBe('inside');
  });

  it('costs the store no call, however deep', async () => {
    await b.engine.withLock('k', () =>
      b.engine.withLock('k', () => b.engine.withLock('k', () => b.engine.withLock('k', () => undefined))),
    );
    expect(b.store.log).toEqual(['acquire k', 'granted k', 'release k']);
  });

  it('shares the token of the outer hold and its end, and counts', async () => {
    await b.engine.withLock('k', async (outer) => {
      expect(outer.holdCount).toBe(1);
      await b.engine.withLock('k', (inner) => {
        expect(inner.token).toBe(outer.token);
        expect([inner.holdCount, outer.holdCount]).toEqual([2, 2]);
        expect([inner.signal.aborted, outer.signal.aborted]).toEqual([false, false]);
      });
      expect(outer.holdCount).toBe(1);
      await b.engine.withLock('k', (inner) => {
        b.store.lose('k');
        expect(inner.signal.reason).toBe(outer.signal.reason);
        expect(inner.signal.reason).toBeInstanceOf(LockLostError);
      });
    });
  });

  it('ends on its own: the outer hold goes on', async () => {
    await b.engine.withLock('k', async (outer) => {
      let inner: FairLock | undefined;
      await b.engine.withLock('k', (lock) => void (inner = lock));
      expect(inner?.state).toBe('released');
      expect(outer.state).toBe('held');
      expect(await b.store.held('k')).toBe(true);
    });
    expect(await b.store.held('k')).toBe(false);
  });

  it('leaves the holds balanced when it throws', async () => {
    await b.engine.withLock('k', async (outer) => {
      const thrown = new Error('inner');
      expect(await rejection(b.engine.withLock('k', () => Promise.reject(thrown)))).toBe(thrown);
      expect(
        await rejection(
          b.engine.withLock('k', () => {
            throw thrown;
          }),
        ),
      ).toBe(thrown);
      expect(outer.holdCount).toBe(1);
      expect(await b.store.held('k')).toBe(true);
      await b.engine.withLock('k', () => undefined);
    });
    expect(await b.store.held('k')).toBe(false);
  });

  it('throws LockLostError inside a hold that is lost', async () => {
    await b.engine.withLock('k', async () => {
      b.store.lose('k');
      expect(await rejection(b.engine.withLock('k', () => 'ran'))).toBeInstanceOf(LockLostError);
      expect(await rejection(b.engine.acquire('k'))).toBeInstanceOf(LockLostError);
      expect(await rejection(b.engine.tryAcquire('k'))).toBeInstanceOf(LockLostError);
    });
  });

  it('with reentrant: false is a LockDeadlockError that names the deadlock', async () => {
    await b.engine.withLock('order:42', async () => {
      const error = await rejection(b.engine.acquire('order:42', { reentrant: false }));
      expect(error).toBeInstanceOf(LockDeadlockError);
      expect(error.details).toContain('"order:42"');
      expect(error.details).toContain('wait for itself');
      await b.engine.withLock('order:43', () => undefined, { reentrant: false });
    });
  });

  it('is refused by an engine that is not reentrant, unless it says otherwise', async () => {
    b = bench({ reentrant: false });
    await b.engine.withLock('k', async () => {
      expect(await rejection(b.engine.acquire('k'))).toBeInstanceOf(LockDeadlockError);
      await b.engine.withLock('k', () => undefined, { reentrant: true });
    });
  });

  it('of another engine is another lock', async () => {
    const other = bench();
    await b.engine.withLock('k', () => other.engine.withLock('k', () => undefined));
    expect(other.store.acquires).toBe(1);
    await other.engine.close();
  });

  it('does not change the lease of the outer hold by its leaseTime', async () => {
    await b.engine.withLock('k', async () => {
      await b.engine.withLock('k', (inner) => expect(inner.remaining()).toBe(Infinity), { leaseTime: 1 });
    });
  });

  it('finds the key it nests in past locks on other keys', async () => {
    await b.engine.withLock('a', () => b.engine.withLock('b', () => b.engine.withLock('a', () => undefined)));
    expect(b.store.acquires).toBe(2);
  });
});

describe('branches of one flow', () => {
  it('exclude each other, first come first served', async () => {
    const events: string[] = [];
    await b.engine.withLock('k', () =>
      Promise.all(
        [1, 2, 3, 4].map((n) =>
          b.engine.withLock('k', async () => {
            events.push(`begin ${n}`);
            await settle();
            events.push(`end ${n}`);
          }),
        ),
      ),
    );
    expect(events).toEqual([1, 2, 3, 4].flatMap((n) => [`begin ${n}`, `end ${n}`]));
    expect(b.store.acquires).toBe(1);
  });

  it('nest further, each in its own branch', async () => {
    const events: string[] = [];
    const branch = (name: string): Promise<void> =>
      b.engine.withLock('k', async () => {
        await Promise.all(
          ['1', '2'].map((n) =>
            b.engine.withLock('k', async () => {
              events.push(`begin ${name}${n}`);
              await settle();
              events.push(`end ${name}${n}`);
            }),
          ),
        );
      });
    await b.engine.withLock('k', () => Promise.all([branch('a'), branch('b')]));
    expect(events).toEqual(['a1', 'a2', 'b1', 'b2'].flatMap((name) => [`begin ${name}`, `end ${name}`]));
  });

  it('are busy for a try while another branch holds', async () => {
    await b.engine.withLock('k', async () => {
      const first = await b.engine.tryAcquire('k');
      expect(first).toBeDefined();
      const onQueued = (): void => {
        throw new Error('a try is never in line');
      };
      expect(await b.engine.tryAcquire('k', { onQueued })).toBeUndefined();
      expect(b.warnings).toEqual([]);
      await first?.release();
      const third = await b.engine.tryAcquire('k');
      expect(third).toBeDefined();
      await third?.release();
    });
    expect(b.store.acquires).toBe(1);
  });

  it('leave the line of their own flow with a LockTimeoutError that names who is in the way', async () => {
    await b.engine.withLock('k', async () => {
      const first = await b.engine.acquire('k', { label: 'Orders.pay' });
      const second = b.engine.acquire('k', { waitTime: 5_000 });
      const error = await rejection(b.engine.acquire('k', { waitTime: 10 }));
      expect(error).toBeInstanceOf(LockTimeoutError);
      expect(error).toMatchObject({ key: 'k', waitTime: 10, blockedBy: { holder: 'Orders.pay', ahead: 1 } });
      await first.release();
      await (await second).release();
    });
  });

  it('leave the line of their own flow when their signal aborts', async () => {
    await b.engine.withLock('k', async () => {
      const first = await b.engine.acquire('k');
      const controller = new AbortController();
      const second = b.engine.acquire('k', { signal: controller.signal });
      const third = b.engine.acquire('k');
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
    await b.engine.withLock('k', async () => {
      const places: number[] = [];
      const onQueued = (position: number): void => void places.push(position);
      const first = await b.engine.acquire('k', { onQueued });
      const others = [b.engine.acquire('k', { onQueued }), b.engine.acquire('k', { onQueued })];
      expect(await rejection(b.engine.acquire('k', { maxQueue: 2 }))).toBeInstanceOf(LockQueueFullError);
      expect(places).toEqual([0, 1]);
      await first.release();
      for (const other of others) await (await other).release();
    });
  });

  it('are refused, those in line, when the hold is lost', async () => {
    await b.engine.withLock('k', async () => {
      const first = await b.engine.acquire('k');
      const second = b.engine.acquire('k');
      const third = b.engine.acquire('k');
      b.store.lose('k');
      expect(await rejection(second)).toBeInstanceOf(LockLostError);
      expect(await rejection(third)).toBeInstanceOf(LockLostError);
      await first.release();
    });
  });

  it('are refused in the line of a nested hold too when the lock is lost', async () => {
    await b.engine.withLock('k', () =>
      b.engine.withLock('k', async () => {
        const first = await b.engine.acquire('k');
        const waiting = b.engine.acquire('k');
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
    await b.engine.withLock(
      'k',
      async () => {
        const first = await b.engine.acquire('k');
        const second = rejection(b.engine.acquire('k'));
        block(300);
        await first.release();
        expect(await second).toBeInstanceOf(LockLostError);
      },
      { leaseTime: 250 },
    );
  });

  it('is refused, not served, when such a lease is found at the end of a branch that gave up another key', async () => {
    const other = await b.engine.acquire('l');
    await b.engine.withLock(
      'k',
      async () => {
        const first = rejection(b.engine.acquire(['k', 'l'], { waitTime: 100 }));
        const second = rejection(b.engine.acquire('k'));
        await settle();
        // The wait for the other key is over before the lease is, and both before the section could look.
        block(300);
        expect(await first).toBeInstanceOf(LockTimeoutError);
        expect(await second).toBeInstanceOf(LockLostError);
      },
      { leaseTime: 250 },
    );
    await other.release();
  });
});

describe('work that outlives its hold', () => {
  it('keeps the lock until it ends, if it is a nested section that has begun', async () => {
    const child = deferred();
    let forgotten: Promise<void> | undefined;
    await b.engine.withLock('k', () => {
      forgotten = b.engine.withLock('k', () => child.promise);
    });
    const stranger = b.engine.acquire('k');
    expect(await outcome(stranger)).toBe('pending');
    expect(b.store.log).not.toContain('release k');
    child.resolve();
    await forgotten;
    await (await stranger).release();
  });

  it('keeps the lock over several levels of forgotten sections', async () => {
    const child = deferred();
    const all: Promise<unknown>[] = [];
    await b.engine.withLock('k', () => {
      all.push(
        b.engine.withLock('k', () => {
          all.push(b.engine.withLock('k', () => child.promise));
        }),
      );
    });
    await all[0];
    expect(await b.store.held('k')).toBe(true);
    child.resolve();
    await all[1];
    expect(await b.store.held('k')).toBe(false);
  });

  it('asks anew as a stranger, if it is a nested request that has not begun', async () => {
    const firstChild = deferred();
    const events: string[] = [];
    const children: Promise<void>[] = [];
    const between = deferred();
    const outer = b.engine.withLock('k', async () => {
      children.push(b.engine.withLock('k', () => firstChild.promise));
      children.push(b.engine.withLock('k', () => void events.push('second child')));
      await between.promise;
    });
    await settle();
    const stranger = b.engine.withLock('k', () => void events.push('stranger'));
    between.resolve();
    await outer;
    expect(await outcome(stranger)).toBe('pending');
    firstChild.resolve();
    await Promise.all([...children, stranger]);
    // The stranger stood in line first; the second child joined it when the section ended.
    expect(events).toEqual(['stranger', 'second child']);
    expect(b.store.acquires).toBe(3);
  });

  it('asks anew in the order in which it asked', async () => {
    const firstChild = deferred();
    const order: number[] = [];
    const all: Promise<unknown>[] = [];
    await b.engine.withLock('k', () => {
      all.push(b.engine.withLock('k', () => firstChild.promise));
      for (const n of [1, 2, 3]) all.push(b.engine.withLock('k', () => void order.push(n)));
    });
    firstChild.resolve();
    await Promise.all(all);
    expect(order).toEqual([1, 2, 3]);
  });

  it('asks anew of the nearest hold that is still open', async () => {
    const child = deferred();
    const all: Promise<unknown>[] = [];
    await b.engine.withLock('k', async () => {
      await b.engine.withLock('k', () => {
        all.push(b.engine.withLock('k', () => child.promise));
        all.push(b.engine.withLock('k', () => 'served'));
      });
      await settle();
      child.resolve();
      expect(await all[1]).toBe('served');
    });
    expect(b.store.acquires).toBe(1);
  });

  it('asks anew with what is left of its wait time', async () => {
    const asked = recordWaitTimes(b.store);
    const child = deferred();
    const all: Promise<unknown>[] = [];
    await b.engine.withLock('k', async () => {
      all.push(b.engine.withLock('k', () => child.promise));
      all.push(b.engine.withLock('k', () => undefined, { waitTime: 5_000 }));
      await pause(100);
    });
    await settle();
    // The timer may fire 1 ms early.
    expect(asked[1]).toBeLessThanOrEqual(5_000 - 99);
    child.resolve();
    await Promise.all(all);
  });

  it('is a stranger, if it is a timer', async () => {
    const fired = deferred();
    let late: Promise<FairLock> | undefined;
    await b.engine.withLock('k', () => {
      setTimeout(() => {
        late = b.engine.acquire('k');
        fired.resolve();
      }, 5);
    });
    const holder = await b.engine.acquire('k');
    await fired.promise;
    expect(b.store.acquires).toBe(3);
    expect(late && (await outcome(late))).toBe('pending');
    await holder.release();
    await (await late)?.release();
  });

  it('is a stranger, if it is an un-awaited promise, and has no current hold', async () => {
    const over = deferred();
    let detached: Promise<FairLock | undefined> | undefined;
    await b.engine.withLock('k', () => {
      detached = over.promise.then(async () => {
        expect(b.engine.current()).toBeUndefined();
        return await b.engine.acquire('k');
      });
    });
    over.resolve();
    const lock = await detached;
    expect(b.store.acquires).toBe(2);
    await lock?.release();
  });

  it('keeps no lock of an earlier round when each round starts from inside the last', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const done = deferred();
    const locks: WeakRef<FairLock>[] = [];
    const round = async (n: number): Promise<void> => {
      await b.engine.withLock('k', (lock) => {
        locks.push(new WeakRef(lock));
        if (n < 50) setTimeout(() => void round(n + 1), 0);
        else return settle().then(collect).then(done.resolve);
      });
    };
    await round(1);
    await done.promise;
    // Counted while the last round is inside; it and the one before may still be in use.
    expect(locks.filter((lock) => lock.deref()).length).toBeLessThanOrEqual(2);
  });

  it('leaves no chain behind either when each round begins before the last has ended', async () => {
    const rounds: Promise<void>[] = [];
    const lengths: number[] = [];
    const round = async (n: number, begun?: () => void): Promise<void> => {
      await b.engine.withLock(`k${n}`, async () => {
        begun?.();
        await settle();
        let length = 0;
        for (let scope = currentScope(); scope; scope = scope.outer) length += 1;
        lengths.push(length);
        if (n === 8) return;
        const next = deferred();
        rounds.push(round(n + 1, next.resolve));
        await next.promise;
      });
    };
    await round(1);
    for (let n = 0; n < rounds.length; n += 1) await rounds[n];
    // Its own scope, and the one that it began in.
    expect(lengths).toEqual([1, 2, 2, 2, 2, 2, 2, 2]);
  });
});

describe('a manual acquire', () => {
  it('followed by a request of the same flow tells it that this process holds the lock, and since when', async () => {
    const lock = await b.engine.acquire('k');
    await pause(30);
    const error = await rejection(b.engine.withLock('k', () => undefined, { waitTime: 20 }));
    expect(error).toBeInstanceOf(LockTimeoutError);
    const { blockedBy, details } = error as LockTimeoutError;
    expect(blockedBy.heldHereFor).toBeGreaterThanOrEqual(45);
    expect(details).toMatch(
      /This process has held it for \d+ ms: if the flow that waited took it by acquire\(\)/,
    );
    expect(details).toContain('Use withLock, or the same owner for both');
    await lock.release();
  });

  it('outside of any section is not reentrant by itself', async () => {
    const lock = await b.engine.acquire('k');
    expect(await b.engine.tryAcquire('k')).toBeUndefined();
    await lock.release();
  });

  it('inside a section on the same key is nested in it, and keeps the lock until it is released', async () => {
    let lock: FairLock | undefined;
    await b.engine.withLock('k', async () => {
      lock = await b.engine.acquire('k');
      expect(lock.holdCount).toBe(2);
    });
    expect(b.store.acquires).toBe(1);
    expect(lock?.state).toBe('held');
    expect(await b.store.held('k')).toBe(true);
    await lock?.release();
    expect(await b.store.held('k')).toBe(false);
  });
});

describe('the current hold', () => {
  it('is the innermost open one of the running flow, by key or of all', async () => {
    expect(b.engine.current()).toBeUndefined();
    await b.engine.withLock('a', async (a) => {
      await b.engine.withLock('b', async (inner) => {
        expect(b.engine.current()).toBe(inner);
        expect(b.engine.current('b')).toBe(inner);
        expect(b.engine.current('a')).toBe(a);
        expect(b.engine.current('c')).toBeUndefined();
        await b.engine.withLock('a', (again) => expect(b.engine.current('a')).toBe(again));
      });
      expect(b.engine.current()).toBe(a);
    });
    expect(b.engine.current()).toBeUndefined();
  });

  it('is not one of another engine', async () => {
    const other = bench();
    await b.engine.withLock('k', (lock) =>
      other.engine.withLock('x', () => {
        expect(b.engine.current()).toBe(lock);
        expect(other.engine.current('k')).toBeUndefined();
      }),
    );
    await other.engine.close();
  });

  it('is not one that has been released', async () => {
    await b.engine.withLock('a', (a) =>
      b.engine.withLock('b', async (lock) => {
        await lock.release();
        expect(b.engine.current('b')).toBeUndefined();
        expect(b.engine.current()).toBe(a);
      }),
    );
  });

  it('is that of `open` inside `run`, each time', async () => {
    const lock = await b.engine.open('k');
    expect(b.engine.current()).toBeUndefined();
    for (let turn = 0; turn < 2; turn += 1) {
      expect(lock.run(() => b.engine.current('k'))).toBe(lock);
      await lock.run(() => b.engine.withLock('k', () => undefined));
    }
    await lock.release();
    expect(lock.run(() => b.engine.current('k'))).toBeUndefined();
    expect(b.store.acquires).toBe(1);
  });
});
