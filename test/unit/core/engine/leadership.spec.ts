import type { LockLoad } from '../../../../lib/core/engine/engines.js';
import { AsyncLocalStorage } from 'node:async_hooks';
import { jest } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  LockConfigurationError,
  LockKeyError,
  LockLostError,
  LockShuttingDownError,
  LockStoreUnavailableError,
} from '../../../../lib/core/errors/errors.js';
import type { Leadership } from '../../../../lib/core/engine/leadership.js';
import type { FairLock } from '../../../../lib/core/holds/fair-lock.js';
import { abortsOf, deferred, within, SOON } from '../../../support/waiting.js';
import { bench, fakeTime, forClientOf, leftovers, NOTHING, settle, type Bench } from '../support.js';

let b: Bench;
beforeEach(() => (b = bench({ maxHold: 50, maxQueue: 0 })));
afterEach(async () => {
  jest.useRealTimers();
  await b.engine.close();
  await settle();
  expect(leftovers(b.engine)).toEqual(NOTHING);
});

const lead = (...args: Parameters<typeof b.engine.service.lead>) => b.engine.service.lead(...args);

/** A section that leads until it is told to stop, as its signal says. */
const untilTold = (lock: FairLock): Promise<void> => abortsOf(lock.signal);

describe('lead', () => {
  it('returns immediately, and leads when it has the lock', async () => {
    const leadership = lead('k', untilTold);
    expect([leadership.state, leadership.isLeader]).toEqual(['following', false]);
    await settle();
    expect([leadership.state, leadership.isLeader]).toEqual(['leading', true]);
    expect(await b.store.held('k')).toBe(true);
  });

  it('lets one at a time lead, in the order in which they came', async () => {
    const order: string[] = [];
    const section = (name: string) => async (lock: FairLock) => {
      order.push(name);
      await untilTold(lock);
      order.push(`end of ${name}`);
    };
    const first = lead('k', section('first'));
    const second = lead('k', section('second'));
    const third = lead('k', section('third'));
    await settle();
    expect([first.isLeader, second.isLeader, third.isLeader]).toEqual([true, false, false]);
    await second.stop();
    await first.stop();
    await settle();
    expect([first.state, second.state, third.state]).toEqual(['stopped', 'stopped', 'leading']);
    expect(order).toEqual(['first', 'end of first', 'third']);
  });

  it('warns once of a section that returns as soon as it has begun, for then each process runs what it has begun', async () => {
    const all = ['first', 'second'].map(() =>
      lead('k', () => void setInterval(() => undefined, 1_000).unref()),
    );
    await settle();
    expect(all.map(({ state }) => state)).toEqual(['stopped', 'stopped']);
    expect(b.warnings).toHaveLength(2);
    expect(b.warnings[0]).toMatch(
      /^The code of the leader "k" returned after \d+ ms, so this process has resigned for good, .* when lock\.signal aborts\. /,
    );
  });

  it('does not warn of a section that returns since it was told to, or after a while', async () => {
    fakeTime();
    const told = lead('told', untilTold);
    const inside: Leadership = lead('inside', () => void inside.stop());
    const lasting = lead('lasting', () => new Promise((resolve) => setTimeout(resolve, 1_000)));
    await settle();
    await told.stop();
    await jest.advanceTimersByTimeAsync(1_000);
    expect([told.state, inside.state, lasting.state]).toEqual(['stopped', 'stopped', 'stopped']);
    expect(b.warnings).toEqual([]);
  });

  it('runs its section inside the hold, and outside of the flow that called it', async () => {
    const storage = new AsyncLocalStorage<string>();
    const inside = deferred<unknown[]>();
    const leadership = await b.engine.service.withLock('outer', () =>
      storage.run('a request', () =>
        lead('k', (lock) => {
          const { service } = b.engine;
          inside.resolve([service.current()?.key, service.current('outer'), storage.getStore(), lock.key]);
          return untilTold(lock);
        }),
      ),
    );
    expect(await inside.promise).toEqual(['k', undefined, undefined, 'k']);
    await leadership.stop();
  });

  it('waits forever: no maxQueue, no maxHold, no client that disconnects', async () => {
    const gone = new AbortController();
    const first = lead('k', untilTold);
    const second = forClientOf(gone.signal, () => lead('k', untilTold));
    await settle();
    gone.abort();
    await sleep(100); // twice maxHold
    expect([first.state, second.state]).toEqual(['leading', 'following']);
    expect(b.warnings).toEqual([]);
    await first.stop();
    await settle();
    expect(second.isLeader).toBe(true);
  });

  it('shows its label', async () => {
    lead('k', untilTold, { label: 'Scheduler' });
    await settle();
    expect((await b.store.inspect('k')).holder?.who).toMatch(/\/Scheduler$/);
  });

  it.each([
    [{ waitTime: 5 }, /^Unknown lead option 'waitTime': a leader waits and holds .* are: label, group\.$/],
    [{ holdAtLeast: 5 }, /^Unknown lead option 'holdAtLeast'/],
    [{ lable: 'x' }, /^Unknown lead option 'lable'/],
    [{ label: 5 }, /^The lock option label must be a string; it is 5\./],
    [null, /^The lead options must be an object; it is null\./],
    [5, /^The lead options must be an object; it is 5\./],
  ])('refuses the options %j at once', (options, details) => {
    const leading = (): unknown => lead('k', untilTold, options as object);
    expect(leading).toThrow(LockConfigurationError);
    expect(leading).toThrow(details);
    expect(b.store.log).toEqual([]);
  });

  it('refuses immediately what is not a key, several keys, and what is not a function', () => {
    for (const key of [undefined, ['k', 'l']]) {
      expect(() => lead(key as unknown as string, untilTold)).toThrow(LockKeyError);
    }
    expect(() => lead('k', undefined as never)).toThrow(
      'lead needs a function to run while the lock is held, but got undefined: write lead(key, (lock) => work(lock.signal), options).',
    );
    expect(() => lead('k', Promise.resolve() as never)).toThrow(
      /^lead got a promise, whose work has begun without the lock: /,
    );
    expect(b.store.log).toEqual([]);
  });
});

describe('a section that throws', () => {
  it('resigns with one warning, and stands again after 1 to 30 s, doubled each time', async () => {
    fakeTime();
    const begun: number[] = [];
    const leadership = lead('k', () => {
      begun.push(performance.now());
      throw new Error('no paper');
    });
    for (let s = 0; s < 125; s += 1) await jest.advanceTimersByTimeAsync(1_000);
    expect(leadership.state).toBe('following');
    const pauses = begun.slice(1).map((at, i) => Math.round((at - begun[i]!) / 1_000));
    expect(pauses).toEqual([1, 2, 4, 8, 16, 30, 30, 30]);
    expect(b.warnings).toHaveLength(begun.length);
    expect(b.warnings[2]).toBe(
      'The code of the leader "k" threw: no paper. This process resigned. It rejoins the queue in 4 s. See nestjs-fair-lock/docs/recipes/leader.md#what-the-log-says.',
    );
    expect(await b.store.held('k')).toBe(false);
  });

  const unreadable = (name: string): unknown =>
    Object.defineProperty(new Error('no paper'), name, {
      get: () => {
        throw new Error('of the getter');
      },
    });
  const revoked = (): unknown => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    return proxy;
  };

  it.each<[string, unknown, string]>([
    ['undefined', undefined, 'undefined'],
    ['no object of a class', Object.create(null), '[Object: null prototype] {}'],
    ['a text of two lines', 'no\npaper', "'no\\npaper'"],
    ['an error of two lines', new Error('no\npaper'), 'no\\u000apaper'],
    ['a revoked proxy', revoked(), 'a value that cannot be read'],
    ['an error whose message cannot be read', unreadable('message'), 'a value that cannot be read'],
    ['an error whose cause cannot be read', unreadable('cause'), 'no paper'],
    ['an error whose name cannot be read', unreadable('name'), 'no paper'],
  ])(
    'may throw %s: it resigns and stands again, also where the lock is lost, and stop() resolves',
    async (_, thrown, says) => {
      fakeTime();
      let elections = 0;
      const leadership = lead('k', (lock) => {
        elections += 1;
        if (elections === 2) b.store.lose(lock.key);
        throw thrown;
      });
      await jest.advanceTimersByTimeAsync(2_000);
      expect([elections, leadership.state, await b.store.held('k')]).toEqual([2, 'following', false]);
      expect(b.warnings.filter((warning) => warning.includes(`threw: ${says}. `))).toHaveLength(2);
      await leadership.stop();
      expect(leadership.state).toBe('stopped');
    },
  );

  it('is warned of for an AbortError, too, if nobody told it to stop', async () => {
    lead('k', () => Promise.reject(new DOMException('own', 'AbortError')));
    await settle();
    expect(b.warnings).toEqual([expect.stringContaining('threw: own. ')]);
  });

  it('counts as the first failure if it ran for 30 s', async () => {
    fakeTime();
    let begun = 0;
    lead('k', async () => {
      begun += 1;
      if (begun === 3) await new Promise((resolve) => setTimeout(resolve, 30_000));
      throw new Error('no paper');
    });
    for (let s = 0; s < 35; s += 1) await jest.advanceTimersByTimeAsync(1_000);
    expect(b.warnings.map((text) => / rejoins the queue in (.*?)\. /.exec(text)?.[1])).toEqual([
      '1 s',
      '2 s',
      '1 s',
      '2 s',
    ]);
  });
});

it('a store that refuses the election is asked again each second, with one warning', async () => {
  fakeTime();
  const { acquire } = b.store;
  const down = new LockStoreUnavailableError('unreachable', 'Redis is away.');
  b.store.acquire = () => Promise.reject(down);
  const leadership = lead('k', untilTold);
  await jest.advanceTimersByTimeAsync(5_500);
  expect(b.warnings).toEqual([
    expect.stringMatching(/^This process cannot campaign for the leadership "k": Redis is away\. /),
  ]);
  expect(leadership.state).toBe('following');
  b.store.acquire = acquire;
  await jest.advanceTimersByTimeAsync(1_000);
  expect(leadership.isLeader).toBe(true);
});

describe('a leader that loses the lock', () => {
  it('is no leader before its signal aborts, and stands again when its section has ended', async () => {
    const seen: unknown[] = [];
    const mayEnd = deferred();
    let terms = 0;
    const leadership = lead('k', async (lock) => {
      terms += 1;
      lock.signal.addEventListener('abort', () =>
        seen.push(leadership.isLeader, leadership.state, lock.signal.reason),
      );
      await untilTold(lock);
      if (terms === 1) await mayEnd.promise;
    });
    await settle();
    b.store.lose('k');
    expect(seen).toEqual([false, 'ending', expect.any(LockLostError)]);
    await settle();
    expect([leadership.state, terms]).toEqual(['ending', 1]);
    mayEnd.resolve();
    await settle();
    expect([leadership.state, terms]).toEqual(['leading', 2]);
    expect(b.warnings).toEqual([expect.stringMatching(/^LOST: The lock "k" was lost/)]);
  });

  it.each<[string, (lock: FairLock) => Promise<unknown>]>([
    ['the reason of its signal', (lock) => untilTold(lock).then(() => lock.signal.throwIfAborted())],
    ['what assertHeld throws', (lock) => untilTold(lock).then(() => lock.assertHeld())],
    ['an AbortError of Node', (lock) => sleep(60_000, undefined, { signal: lock.signal })],
  ])('stands again at once, without a warning of its own, if its section throws %s', async (_, section) => {
    const leadership = lead('k', section);
    await settle();
    b.store.lose('k');
    await settle();
    expect(leadership.isLeader).toBe(true);
    expect(b.warnings).toHaveLength(1); // of the loss
  });

  it('does not begin a section whose lock was lost before', async () => {
    let terms = 0;
    const { acquire } = b.store;
    b.store.acquire = async (request) => {
      const grant = await acquire.call(b.store, request);
      b.store.acquire = acquire;
      grant.lease.lose('the test took it away');
      return grant;
    };
    const leadership = lead('k', (lock) => {
      terms += 1;
      return untilTold(lock);
    });
    await settle();
    expect([leadership.isLeader, terms]).toEqual([true, 1]);
    expect(b.store.log.filter((entry) => entry === 'granted k')).toHaveLength(2);
  });
});

describe('stop', () => {
  it('aborts the signal, waits for the section to end and for the release, and never stands again', async () => {
    const told = deferred<unknown>();
    const mayEnd = deferred();
    const leadership = lead('k', async (lock) => {
      lock.signal.addEventListener('abort', () => told.resolve([leadership.isLeader, lock.signal.reason]));
      await mayEnd.promise;
      lock.assertHeld();
    });
    await settle();
    const stopped = leadership.stop();
    expect(await told.promise).toEqual([false, expect.objectContaining({ name: 'AbortError' })]);
    expect(leadership.state).toBe('ending');
    expect(await b.store.held('k')).toBe(true);
    mayEnd.resolve();
    await stopped;
    expect(leadership.state).toBe('stopped');
    expect(await b.store.held('k')).toBe(false);
    await leadership.stop();
    expect(b.warnings).toEqual([]);
    expect(b.store.acquires).toBe(1);
  });

  it('leaves the line immediately', async () => {
    b = bench();
    const holder = await b.engine.service.acquire('k');
    const leadership = lead('k', untilTold);
    await settle();
    expect(await b.store.waiting('k')).toBe(1);
    await leadership.stop();
    expect(leadership.state).toBe('stopped');
    expect(await b.store.waiting('k')).toBe(0);
    await holder.release();
    expect(b.warnings).toEqual([]);
  });

  it('in the moment of the grant begins no section', async () => {
    const { acquire } = b.store;
    let stopped: Promise<void> | undefined;
    b.store.acquire = async (request) => {
      const grant = await acquire.call(b.store, request);
      queueMicrotask(() => void (stopped = leadership.stop()));
      return grant;
    };
    let begun = false;
    const leadership = lead('k', () => void (begun = true));
    await settle();
    await stopped;
    expect([begun, leadership.state, await b.store.held('k')]).toEqual([false, 'stopped', false]);
    expect(b.warnings).toEqual([]);
  });

  it('ends the pause after a failure', async () => {
    const leadership = lead('k', () => Promise.reject(new Error('no paper')));
    await settle();
    await within(leadership.stop(), 500, 'the end of a pause of a second');
    expect(leadership.state).toBe('stopped');
    expect(leftovers(b.engine)).toEqual(NOTHING);
  });

  it('does not wait for the section that calls it', async () => {
    const called = deferred();
    const leadership = lead('k', async () => {
      await leadership.stop();
      called.resolve();
    });
    await within(called.promise, SOON, 'stop() in the section');
    await settle();
    expect(leadership.state).toBe('stopped');
  });

  it('warns if the section throws an error of another kind on its way out', async () => {
    const leadership = lead('k', async (lock) => {
      await untilTold(lock);
      throw new Error('no paper');
    });
    await settle();
    await leadership.stop();
    expect(b.warnings).toEqual([
      expect.stringMatching(/^The code of the leader "k" threw: no paper\. This process resigned\. See /),
    ]);
  });
});

describe('a shutdown', () => {
  it('aborts the signal of the leader when it begins, and drains when the section has ended', async () => {
    const reason = deferred<unknown>();
    const mayEnd = deferred();
    const leadership = lead('k', async (lock) => {
      lock.signal.addEventListener('abort', () => reason.resolve(lock.signal.reason));
      await mayEnd.promise;
    });
    await settle();
    b.engine.beginShutdown();
    expect(await reason.promise).toBeInstanceOf(LockShuttingDownError);
    expect(leadership.state).toBe('ending');
    mayEnd.resolve();
    await within(b.engine.drain(), SOON, 'the drain');
    await leadership.stop();
    expect([leadership.state, await b.store.held('k')]).toEqual(['stopped', false]);
    expect(b.warnings).toEqual([]);
  });

  it('that begins with close stops the leader too, and followers, and who pauses after a failure', async () => {
    const leader = lead('k', untilTold);
    const follower = lead('k', untilTold);
    const pausing = lead('l', () => Promise.reject(new Error('no paper')));
    await settle();
    expect(b.warnings).toHaveLength(1);
    await b.engine.close();
    await settle();
    expect([leader.state, follower.state, pausing.state]).toEqual(['stopped', 'stopped', 'stopped']);
    expect(b.warnings).toHaveLength(1);
  });

  it('accepts no more candidates', async () => {
    b.engine.beginShutdown();
    const leadership = lead('k', untilTold);
    await settle();
    expect(leadership.state).toBe('stopped');
    expect(b.store.log).toEqual([]);
  });
});

it('leaders and followers do not count as slow, nor as the oldest wait or hold; others on the same key do', async () => {
  fakeTime();
  b = bench({ slowWait: 20, slowHold: 20 });
  lead('k', untilTold);
  const follower = lead('k', untilTold);
  await jest.advanceTimersByTimeAsync(60);
  expect(b.warnings).toEqual([]);
  const load = new Map<string, LockLoad>();
  b.engine.addLoad(load);
  expect(load.get('other')).toEqual({ waiting: 1, held: 1, oldestWait: 0, oldestHold: 0 });
  await follower.stop();
  const other = b.engine.service.acquire('k', { waitTime: 80 }).catch(() => undefined);
  await jest.advanceTimersByTimeAsync(100);
  await other;
  expect(b.warnings[0]).toMatch(/^A call for the lock "k" by \S+ has waited/);
});
