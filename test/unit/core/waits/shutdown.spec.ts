import { jest } from '@jest/globals';
import { LockShuttingDownError } from '../../../../lib/core/errors/errors.js';
import { deferred, SOON, within } from '../../../support/waiting.js';
import { bench, fakeTime, outcome, rejection, settle, type Bench } from '../support.js';

let b: Bench;
beforeEach(() => (b = bench()));
afterEach(() => b.engine.close());

describe('beginShutdown', () => {
  it('shows in health() from its first moment, so that a process which rejects calls gets no more requests', async () => {
    expect(await b.service.health()).toEqual({ reachable: true, listening: true });
    b.engine.beginShutdown();
    expect(await b.service.health()).toMatchObject({
      reachable: false,
      closing: true,
      problem: 'The process is closing and rejects new calls for locks.',
    });
  });

  it('lets those leave the line who are not inside a hold, with an error that names their key', async () => {
    const holder = await b.service.acquire('k');
    const waiting = b.service.acquire('k');
    b.engine.beginShutdown();
    const error = await rejection(waiting);
    expect(error).toBeInstanceOf(LockShuttingDownError);
    expect(error).toMatchObject({ key: 'k', status: 503 });
    expect(await b.store.waiting('k')).toBe(0);
    expect(holder.state).toBe('held');
    await holder.release();
  });

  it('refuses new requests from outside a hold, before the store learns of them', async () => {
    b.engine.beginShutdown();
    for (const asked of [
      b.service.acquire('k'),
      b.service.tryAcquire('k'),
      b.service.withLock('k', () => undefined),
      b.service.acquire(['k', 'l']),
    ]) {
      expect(await rejection(asked)).toBeInstanceOf(LockShuttingDownError);
    }
    expect(b.store.acquires).toBe(0);
  });

  it('lets a flow that holds still nest, wait for other keys, and wait for its own branches', async () => {
    const other = await b.service.acquire('other');
    const result = b.service.withLock('k', async () => {
      const waitingAlready = b.service.acquire('other');
      b.engine.beginShutdown();
      const branches = [b.service.withLock('k', settle), b.service.withLock('k', settle)];
      await other.release();
      await (await waitingAlready).release();
      await b.service.withLock('third', () => undefined);
      await Promise.all(branches);
      return 'finished';
    });
    expect(await result).toBe('finished');
  });

  it('lets what runs in a lock that was acquired still ask for more', async () => {
    const first = await b.service.acquire('k');
    b.engine.beginShutdown();
    const second = await first.run(() => b.service.acquire('l'));
    await second.release();
    await first.release();
    expect(await rejection(b.service.acquire('l'))).toBeInstanceOf(LockShuttingDownError);
  });

  it('counts as outside who waits for what was begun inside a hold that has ended', async () => {
    const holder = await b.service.acquire('other');
    let waiting: Promise<Error> | undefined;
    await b.service.withLock('k', () => {
      waiting = rejection(b.service.acquire('other'));
    });
    b.engine.beginShutdown();
    expect(await waiting).toBeInstanceOf(LockShuttingDownError);
    await holder.release();
  });

  it('gives back the first of several keys when the flow leaves the line of the second', async () => {
    const holder = await b.service.acquire('b');
    const both = rejection(b.service.acquire(['a', 'b']));
    await settle();
    expect(await b.store.held('a')).toBe(true);
    b.engine.beginShutdown();
    expect(await both).toBeInstanceOf(LockShuttingDownError);
    expect(await b.store.held('a')).toBe(false);
    await holder.release();
  });
});

describe('the end of the drain time', () => {
  it('aborts the signals of the remaining holds, which stay held until they are released', async () => {
    b = bench({ drainTimeout: 10 });
    const lock = await b.service.acquire('k');
    const aborted = deferred<unknown>();
    lock.signal.addEventListener('abort', () => aborted.resolve(lock.signal.reason));
    b.engine.beginShutdown();
    expect(lock.signal.aborted).toBe(false);
    const reason = await aborted.promise;
    expect(reason).toBeInstanceOf(LockShuttingDownError);
    expect(reason).toMatchObject({ key: 'k' });
    expect(lock.state).toBe('held');
    lock.assertHeld();
    await lock.release();
    expect(await b.store.held('k')).toBe(false);
  });

  it('ends the waits inside holds too, and admits no new ones; nesting without a wait still works', async () => {
    b = bench({ drainTimeout: 10 });
    const other = await b.service.acquire('other');
    await b.service.withLock('k', async (lock) => {
      const branch = await b.service.acquire('k');
      const inStore = rejection(b.service.acquire('other'));
      const inBranch = rejection(b.service.acquire('k'));
      b.engine.beginShutdown();
      expect(await inStore).toBeInstanceOf(LockShuttingDownError);
      expect(await inBranch).toBeInstanceOf(LockShuttingDownError);
      expect(lock.signal.aborted).toBe(true);
      expect(await rejection(b.service.acquire('k'))).toBeInstanceOf(LockShuttingDownError);
      await branch.release();
      expect(await rejection(b.service.acquire('third'))).toBeInstanceOf(LockShuttingDownError);
      expect(b.store.log).not.toContain('acquire third');
      await b.service.withLock('k', () => undefined);
    });
    await other.release();
  });

  it('is counted from the first beginShutdown', async () => {
    b = bench({ drainTimeout: 50 });
    const lock = await b.service.acquire('k');
    const started = performance.now();
    b.engine.beginShutdown();
    const again = setInterval(() => b.engine.beginShutdown(), 5);
    await new Promise((resolve) => lock.signal.addEventListener('abort', resolve));
    clearInterval(again);
    expect(performance.now() - started).toBeGreaterThanOrEqual(49);
    await lock.release();
  });
});

describe('drain', () => {
  it('resolves when the last hold has ended', async () => {
    const [a, b1] = [await b.service.acquire('a'), await b.service.acquire('b')];
    b.engine.beginShutdown();
    const drained = b.engine.drain();
    await a.release();
    expect(await outcome(drained)).toBe('pending');
    await b1.release();
    expect(await outcome(drained)).toBeUndefined();
  });

  it('waits for a hold that a flow inside another takes meanwhile', async () => {
    const end = deferred();
    const inner = deferred();
    const section = b.service.withLock('k', async () => {
      await inner.promise;
      await b.service.withLock('l', () => end.promise);
    });
    await settle();
    b.engine.beginShutdown();
    const drained = b.engine.drain();
    inner.resolve();
    expect(await outcome(drained)).toBe('pending');
    end.resolve();
    await section;
    expect(await outcome(drained)).toBeUndefined();
  });

  it('resolves immediately when nothing is held, and when the drain time has elapsed', async () => {
    b.engine.beginShutdown();
    expect(await outcome(b.engine.drain())).toBeUndefined();
    await b.engine.close();
    b = bench({ drainTimeout: 10 });
    const lock = await b.service.acquire('k');
    b.engine.beginShutdown();
    await b.engine.drain();
    expect(lock.signal.reason).toBeInstanceOf(LockShuttingDownError);
    expect(await outcome(b.engine.drain())).toBeUndefined();
    await lock.release();
  });

  it('may be asked for several times: all resolve when the last hold has ended', async () => {
    const lock = await b.service.acquire('k');
    b.engine.beginShutdown();
    const drained = [b.engine.drain(), b.engine.drain()];
    await lock.release();
    expect(await Promise.all(drained.map(outcome))).toEqual([undefined, undefined]);
  });

  it('resolves when the engine is closed meanwhile', async () => {
    await b.service.acquire('k');
    b.engine.beginShutdown();
    const drained = b.engine.drain();
    await b.engine.close();
    expect(await outcome(drained)).toBeUndefined();
  });
});

describe('a section that has not ended when the drain time has elapsed', () => {
  /** A section that ends when it is told to, and when its signal aborted and its lock was given back. */
  async function stubborn(lease: number) {
    b = bench({ drainTimeout: 10, lease });
    const [end, aborted, released] = [deferred(), deferred<number>(), deferred<number>()];
    const section = b.service.withLock(
      'k',
      async (lock) => {
        lock.signal.addEventListener('abort', () => aborted.resolve(performance.now()));
        await end.promise;
      },
      { label: 'Orders.pay' },
    );
    await settle();
    const grant = b.store.grants.get('k')!;
    const { release } = grant;
    Object.assign(grant, { release: () => (released.resolve(performance.now()), release()) });
    b.engine.beginShutdown();
    await b.engine.drain();
    return { end, section, aborted: aborted.promise, released: released.promise };
  }

  it('keeps its lock for the margin of an expiring lease; then one warning says that it goes on without it', async () => {
    const { end, section, aborted, released } = await stubborn(200);
    await b.engine.close();
    // The margin is half of this lease; a timer of Node may fire 1 ms early.
    expect((await released) - (await aborted)).toBeGreaterThanOrEqual(100 - 1);
    expect(b.warnings).toEqual([
      expect.stringMatching(
        /^Shutdown: releasing the lock "k" although Orders\.pay is still running \(for \d+ ms\)\. It now runs unprotected, /,
      ),
    ]);
    end.resolve();
    await section;
  });

  it('delays the close no longer than it takes to end, without a warning', async () => {
    const { end, section, aborted } = await stubborn(600_000);
    const closed = b.engine.close();
    await aborted;
    expect(await outcome(closed)).toBe('pending');
    end.resolve();
    await Promise.all([section, closed]);
    expect(b.warnings).toEqual([]);
  });

  it('is not waited for by a close that it calls itself', async () => {
    b = bench({ drainTimeout: 60_000, lease: 60_000 });
    const section = b.service.withLock('k', async () => {
      b.engine.beginShutdown();
      await b.engine.drain();
      await b.engine.close();
    });
    await within(section, SOON, 'the section');
  });

  it('is waited for by a close that another section calls', async () => {
    const end = deferred();
    const other = b.service.withLock('other', () => end.promise);
    const section = b.service.withLock('k', async () => {
      b.engine.beginShutdown();
      await b.engine.drain();
    });
    expect(await outcome(section)).toBe('pending');
    end.resolve();
    await Promise.all([other, section]);
  });
});

it('a shutdown that waits says for what after a second, once', async () => {
  fakeTime();
  b = bench({ drainTimeout: 60_000 });
  const lock = await b.service.acquire('k', { label: 'Orders.pay' });
  b.engine.beginShutdown();
  const drained = b.engine.drain();
  await jest.advanceTimersByTimeAsync(10_000);
  await lock.release();
  await drained;
  expect(b.warnings).toEqual([
    expect.stringMatching(
      /^The shutdown waits for 1 lock to be released: "k" \(Orders\.pay, held for 1(\.0)? s\)\. When drainTimeout \(60 s\) has elapsed, /,
    ),
  ]);
  jest.useRealTimers();
});

it('the error of a refused call names the key and the caller', async () => {
  b.engine.beginShutdown();
  const { details } = await rejection(b.service.acquire('cache', { label: 'Cache.flush' }));
  expect(details).toMatch(/ no longer serves requests for the lock "cache" \(Cache\.flush\), /);
});
