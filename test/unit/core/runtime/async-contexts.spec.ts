import { AsyncLocalStorage } from 'node:async_hooks';
import { Timers } from '../../../../lib/core/runtime/timers.js';
import { block, deferred } from '../../../support/waiting.js';
import { bench, settle, type Bench } from '../support.js';
import { Wait } from '../../../../lib/core/port/wait.js';

const requests = new AsyncLocalStorage<string>();

let b: Bench;
beforeEach(() => (b = bench()));
afterEach(() => b.engine.close());

/** Runs `section` inside a hold on `key`, in a request of that name, until the returned function is called. */
async function hold(name: string, key: string, section: () => unknown): Promise<() => Promise<void>> {
  const inside = deferred();
  const end = deferred();
  const ended = requests.run(name, () =>
    b.service.withLock(key, async () => {
      await section();
      inside.resolve();
      await end.promise;
    }),
  );
  await inside.promise;
  return () => {
    end.resolve();
    return ended;
  };
}

describe('an abort listener of lock.signal', () => {
  it('that takes a lock waits for the flow in whose timer it runs', async () => {
    const outcome = deferred<unknown>();
    const own = await b.service.acquire('other', { maxHold: 500, leaseTime: 10_000 });
    own.signal.addEventListener('abort', () => {
      outcome.resolve(
        b.service.tryAcquire('k').then(async (lock) => {
          await lock?.release();
          return lock;
        }),
      );
    });
    // The one timer is armed anew from inside this flow's hold.
    const end = await hold('A', 'k', async () => {
      const sooner = await b.service.acquire('sooner', { maxHold: 100, leaseTime: 10_000 });
      await new Promise((resolve) => sooner.signal.addEventListener('abort', resolve));
      await sooner.release();
    });
    expect(await outcome.promise).toBeUndefined();
    await end();
    await own.release();
  });

  it('that takes a lock waits for the flow whose request found the lease run out', async () => {
    const outcome = deferred<unknown>();
    const own = await b.service.acquire('short', { leaseTime: 200 });
    own.signal.addEventListener('abort', () => {
      outcome.resolve(b.service.tryAcquire('k'));
    });
    const end = await hold('A', 'k', async () => {
      block(210); // no timer can find it first
      await (await b.service.acquire('short')).release();
    });
    expect(await outcome.promise).toBeUndefined();
    await end();
  });

  it('runs in the flow of the handle, inside its hold', async () => {
    const seen = deferred<unknown[]>();
    const end = await hold('A', 'k', () => {
      const lock = b.service.current('k');
      lock?.signal.addEventListener('abort', () => {
        seen.resolve([requests.getStore(), b.service.current('k') === lock, lock.state]);
      });
    });
    requests.run('B', () => b.store.lose('k'));
    expect(await seen.promise).toEqual(['A', true, 'lost']);
    await end();
  });

  it('of two nested holds runs in the flow of its own handle', async () => {
    const seen: unknown[] = [];
    let innermost = await b.service.acquire('shared');
    const listening = (name: string, key: string): Promise<() => Promise<void>> =>
      hold(name, key, async () => {
        const lock = (innermost = await innermost.run(() => b.service.acquire('shared')));
        lock.signal.addEventListener('abort', () => {
          seen.push([requests.getStore(), ['a', 'b'].filter((other) => b.service.current(other))]);
        });
      });
    const ends = [await listening('A', 'a'), await listening('B', 'b')];
    b.store.lose('shared');
    expect(seen).toEqual([
      ['A', ['a']],
      ['B', ['b']],
    ]);
    for (const end of ends) await end();
  });

  it('added in a nested section of one branch does not carry the others into it', async () => {
    const seen: unknown[] = [];
    await b.service.withLock('k', async (lock) => {
      const both = deferred();
      const branch = (key: string, last: boolean): Promise<void> =>
        b.service.withLock(key, async () => {
          lock.signal.addEventListener('abort', () => seen.push(b.service.current()?.key));
          if (last) both.resolve();
          await both.promise;
        });
      const first = branch('a', false);
      await settle();
      const second = branch('b', true);
      await both.promise;
      b.store.lose('k');
      await Promise.all([first, second]);
    });
    expect(seen).toEqual(['k', 'k']);
  });
});

it('onQueued runs in the flow of its caller', async () => {
  const holder = await b.service.acquire('k');
  const seen = deferred<unknown>();
  const queue = b.store.acquire.bind(b.store);
  b.store.acquire = (request) => requests.run('of the store', () => queue(request));
  const asked = requests.run('A', () =>
    b.service.acquire('k', { onQueued: () => seen.resolve(requests.getStore()) }),
  );
  expect(await seen.promise).toBe('A');
  await holder.release();
  await (await asked).release();
});

describe('what the module does on its own', () => {
  it('is told to the store in no request', async () => {
    const seen: [string, string | undefined][] = [];
    const note = (call: string): void => void seen.push([call, requests.getStore()]);
    const { acquire, inspect, forceRelease, close, start } = b.store;
    b.store.acquire = async (request) => {
      note('acquire');
      const grant = await acquire.call(b.store, request);
      const release = grant.release.bind(grant);
      return Object.assign(grant, { release: () => (note('release'), release()) });
    };
    b.store.inspect = (key) => (note('inspect'), inspect.call(b.store, key));
    b.store.forceRelease = (key) => (note('forceRelease'), forceRelease.call(b.store, key));
    b.store.start = () => (note('start'), start.call(b.store));
    b.store.close = () => (note('close'), close.call(b.store));
    await requests.run('A', async () => {
      await b.engine.start();
      await b.service.withLock('k', () => undefined);
      await b.service.inspect('k');
      await b.service.forceRelease('k');
      await b.engine.close();
    });
    expect(seen).toEqual(
      ['start', 'acquire', 'release', 'inspect', 'forceRelease', 'close'].map((call) => [call, undefined]),
    );
  });

  it('warns in no request, whatever request found the loss', async () => {
    const seen: unknown[] = [];
    b = bench({ onWarning: () => seen.push(requests.getStore()) });
    const lock = await requests.run('A', () => b.service.acquire('k'));
    requests.run('B', () => b.store.lose('k'));
    expect(seen).toEqual([undefined]);
    await lock.release();
  });

  it('leaves a line in no request, when the signal of a caller aborts in one', async () => {
    const seen: unknown[] = [];
    const leaving = new AbortController();
    const timers = new Timers();
    const holder = await b.service.acquire('k');
    const acquire = b.store.acquire.bind(b.store);
    b.store.acquire = (wait) => {
      wait.enter({ aborted: () => seen.push(requests.getStore()), overdue: () => undefined }, timers);
      return acquire(new Wait(wait));
    };
    const asked = requests.run('A', () => b.service.acquire('k', { signal: leaving.signal }));
    await settle();
    requests.run('B', () => leaving.abort());
    expect(seen).toEqual([undefined]);
    timers.stop(); // the wait in them keeps the process alive
    await holder.release();
    await (await asked).release();
  });

  it('runs what is due in no request, whatever request armed the timer', async () => {
    const seen = deferred<unknown>();
    const timers = new Timers();
    requests.run('A', () =>
      timers.schedule({ onDue: () => seen.resolve(requests.getStore()) }, performance.now() + 1),
    );
    expect(await seen.promise).toBeUndefined();
  });
});
