import { jest } from '@jest/globals';
import { AsyncLocalStorage } from 'node:async_hooks';
import { channel, tracingChannel } from 'node:diagnostics_channel';
import type {
  HoldDescription,
  LockEvent,
  WaitDescription,
} from '../../../../lib/core/diagnostics/diagnostics.js';
import { totalLoad } from '../../../../lib/core/engine/engines.js';
import { bench, fakeTime, rejection, settle, type Bench } from '../support.js';

let b: Bench;
let waits: WaitDescription[];
let holds: HoldDescription[];
let events: LockEvent[];
const begun = new Set<unknown>();

const onWait = {
  start: (wait: unknown) => void begun.add(wait),
  asyncEnd: (wait: unknown) => void waits.push(wait as WaitDescription),
};
const onHold = {
  start: (hold: unknown) => void begun.add(hold),
  asyncEnd: (hold: unknown) => void holds.push(hold as HoldDescription),
};
const onEvent = (event: unknown): void => void events.push(event as LockEvent);
const waitChannel = tracingChannel('fairlock:wait');
const holdChannel = tracingChannel('fairlock:hold');

beforeEach(() => {
  b = bench({ slowWait: Infinity });
  [waits, holds, events] = [[], [], []];
  waitChannel.subscribe(onWait as never);
  holdChannel.subscribe(onHold as never);
  channel('fairlock:event').subscribe(onEvent);
});
afterEach(async () => {
  waitChannel.unsubscribe(onWait as never);
  holdChannel.unsubscribe(onHold as never);
  channel('fairlock:event').unsubscribe(onEvent);
  begun.clear();
  await b.engine.close();
});

describe('the diagnostics channels', () => {
  it('describe each wait and each hold once, from its beginning to its end', async () => {
    await b.service.withLock('order:1', () => expect(holds).toEqual([]), {
      group: 'order:<0>',
      label: 'Orders.pay',
    });
    expect(waits).toMatchObject([
      { key: 'order:1', lock: 'order:<0>', label: 'Orders.pay', outcome: 'granted' },
    ]);
    expect(holds).toMatchObject([
      { key: 'order:1', lock: 'order:<0>', label: 'Orders.pay', outcome: 'released' },
    ]);
    expect(begun).toEqual(new Set([...waits, ...holds]));
    expect(waits[0]!.ahead).toBeUndefined();
    expect(holds[0]!.endedAt).toBeGreaterThanOrEqual(holds[0]!.startedAt);
  });

  it('describe a wait for a branch as one, also where it goes on in line when the section around it has ended', async () => {
    const asked: Promise<unknown>[] = [];
    await b.service.withLock('k', async () => {
      const first = await b.service.acquire('k');
      const second = b.service.withLock('k', () => undefined);
      asked.push(second, rejection(b.service.acquire('k', { waitTime: 10 })));
      setImmediate(() => void asked[1]!.then(() => first.release()));
    });
    await Promise.all(asked);
    const granted = { key: 'k', outcome: 'granted' };
    expect(waits).toMatchObject([granted, { outcome: 'timeout', error: { code: 'WAIT_TIMEOUT' } }, granted]);
    expect(begun).toEqual(new Set([...waits, ...holds]));
  });

  it('tell of the places in a line of the store, not of those in the line of a branch', async () => {
    await b.service.withLock('k', async () => {
      const first = await b.service.acquire('k');
      const onQueued = jest.fn();
      const second = b.service.acquire('k', { onQueued });
      expect(onQueued).toHaveBeenCalledWith(0);
      await first.release();
      await (await second).release();
    });
    expect(events.map(({ type }) => type)).toEqual(['granted']);
  });

  it('describe a wait for a branch as one, also where it is refused before it joins a line', async () => {
    const outer = await b.service.acquire('k');
    const controller = new AbortController();
    const [first, refused] = outer.run(
      () =>
        [b.service.acquire('k'), rejection(b.service.acquire('k', { signal: controller.signal }))] as const,
    );
    const lock = await first;
    const released = outer.release();
    controller.abort();
    expect(await refused).toMatchObject({ code: 'ABORTED' });
    expect(waits).toMatchObject([{ outcome: 'granted' }, { outcome: 'aborted' }]);
    await Promise.all([released, lock.release()]);
  });

  it('count what has no group under one name', async () => {
    await b.service.withLock('order:1', () => undefined);
    expect(waits).toMatchObject([{ lock: 'other' }]);
  });

  it('take it for no failure that a caller goes on without the lock', async () => {
    const lock = await b.service.acquire('k');
    const failed = jest.fn();
    waitChannel.subscribe({ error: failed } as never);
    expect(await b.service.tryAcquire('k')).toBeUndefined();
    waitChannel.unsubscribe({ error: failed } as never);
    expect(waits[1]).toMatchObject({ outcome: 'skipped' });
    expect(waits[1]).not.toHaveProperty('error');
    expect(failed).not.toHaveBeenCalled();
    await lock.release();
  });

  it('describe no hold that did not begin: of several keys that were not all had, or lost before its section', async () => {
    const other = await b.service.acquire('b');
    await rejection(b.service.acquire(['a', 'b'], { waitTime: 1 }));
    const lost = rejection(b.service.withLock('c', () => undefined));
    await b.store.forceRelease('c');
    await lost;
    await other.release();
    expect(holds.map(({ key }) => key)).toEqual(['b']);
  });

  it('run a section with the stores that are bound to the channel, and inside what a subscriber puts around it', async () => {
    const store = new AsyncLocalStorage<string>();
    const around = new AsyncLocalStorage<string>();
    holdChannel.start.bindStore(store, (hold) => `in ${(hold as HoldDescription).key}`);
    const wrap = {
      start: (hold: HoldDescription) =>
        (hold.around = (section) => around.run(`around ${hold.key}`, section)),
    };
    holdChannel.subscribe(wrap as never);
    await b.service.withLock(['a', 'b'], async () => {
      await settle();
      expect([store.getStore(), around.getStore()]).toEqual(['in b', 'around b']);
      await b.service.withLock('a', () => expect(around.getStore()).toBe('around b'));
    });
    expect([store.getStore(), around.getStore()]).toEqual([undefined, undefined]);
    const scoped = await b.service.acquire('c');
    expect(scoped.run(() => around.getStore())).toBe('around c');
    expect(scoped.run(() => around.getStore())).toBe('around c');
    await scoped.release();
    holdChannel.unsubscribe(wrap as never);
    holdChannel.start.unbindStore(store);
    expect(begun.size).toBe(6);
  });

  it('are not needed to count what goes on', async () => {
    await b.engine.start();
    const lock = await b.service.acquire('k', { group: 'g' });
    const next = b.service.acquire('k', { group: 'g' });
    expect(totalLoad().get('g')).toMatchObject({ waiting: 1, held: 1 });
    b.store.lose('k');
    const later = await next;
    expect(totalLoad().get('g')).toMatchObject({ waiting: 0, held: 1 });
    await Promise.all([lock.release(), later.release()]);
    expect(totalLoad().get('g')).toBeUndefined();
  });
});

it('counts no more than 128 characters of a group, so that groups made from data do not fill the memory', async () => {
  const group = '/orders?q='.padEnd(2_000, 'x');
  await b.service.withLock('order:1', () => undefined, { group });
  expect(waits.at(-1)?.lock).toBe(group.slice(0, 128));
});

describe('what takes long', () => {
  beforeEach(fakeTime);
  afterEach(() => void jest.useRealTimers());
  const pass = (ms: number): Promise<void> => jest.advanceTimersByTimeAsync(ms);

  it('triggers one warning each, with the holder at that moment', async () => {
    b = bench({ slowWait: 20, slowHold: 60 });
    const lock = await b.service.acquire('order:1', { label: 'Orders.ship' });
    const waits = [
      b.service.acquire('order:1', { label: 'Orders.pay' }),
      b.service.acquire('order:1', { waitTime: 150 }),
    ];
    const refused = rejection(waits[1]!);
    await pass(200);
    await refused;
    await lock.release();
    await (await waits[0]!).release();
    expect(b.warnings).toEqual([
      expect.stringMatching(
        /^A call for the lock "order:1" by \S+\/\d+\/Orders\.pay has waited for \d+ ms, with 0 ahead of it and 1 behind it in the queue\. The lock is currently held by \S+\/\d+\/Orders\.ship, for \d+ ms\. See /,
      ),
      expect.stringMatching(/^The lock "order:1" has been held for \d+ ms by \S+\/\d+\/Orders\.ship\./),
      expect.stringMatching(/^WAIT_TIMEOUT by \S+\/\d+: Gave up waiting for the lock "order:1" after 150 ms/),
    ]);
  });

  it('triggers one warning of the waits for a lock in 10 s, which says how many wait, and one look at the lock', async () => {
    b = bench({ slowWait: 10_000, slowHold: Infinity });
    const looks = jest.spyOn(b.store, 'inspect');
    const lock = await b.service.acquire('order:1', { label: 'Orders.ship' });
    const gone = new AbortController();
    const waits = Array.from({ length: 100 }, () =>
      rejection(b.service.acquire('order:1', { signal: gone.signal, waitTime: Infinity })),
    );
    await pass(11_000);
    const line =
      /^A call for the lock "order:1" by \S+ has waited for 10 s, with 0 ahead of it and 99 behind it in the queue\. /;
    expect(b.warnings).toEqual([expect.stringMatching(line)]);
    expect(looks).toHaveBeenCalledTimes(1);
    await pass(30_000);
    expect(b.warnings).toEqual([
      expect.stringMatching(line),
      expect.stringMatching(
        /^A call .* \(and 98 more since the last such warning\) has waited for 20 s, with 99 ahead /,
      ),
    ]);
    expect(looks.mock.calls.length).toBeLessThanOrEqual(2);
    gone.abort();
    await Promise.all(waits);
    await lock.release();
  });

  it('triggers lines that each say what is so by then, and nothing of what the store did not tell', async () => {
    b = bench({ slowWait: 10_000, slowHold: Infinity });
    const lock = await b.service.acquire('order:1', { label: 'Orders.ship' });
    const [next, last] = ['Orders.pay', 'Orders.bill'].map((label) =>
      b.service.acquire('order:1', { label, waitTime: Infinity }),
    );
    await pass(10_000);
    await pass(5_000);
    await lock.release();
    const held = await next!;
    await pass(6_000);
    jest.spyOn(b.store, 'inspect').mockRejectedValue(new Error('unreachable'));
    const third = b.service.acquire('order:1', { label: 'Orders.void', waitTime: Infinity });
    await pass(10_000);
    expect(b.warnings).toEqual([
      expect.stringMatching(
        /Orders\.pay has waited for 10 s, with 0 ahead of it and 1 behind it .* held by \S+Orders\.ship, for 10 s/,
      ),
      expect.stringMatching(
        /Orders\.bill has waited for 20 s, with 0 ahead of it and 0 behind it .* held by \S+Orders\.pay, for 5 s/,
      ),
      expect.stringMatching(
        /Orders\.void has waited for 10 s\. Redis did not tell who holds it, because it does not respond\. See \S+#redis-was-unavailable/,
      ),
    ]);
    await held.release();
    await (await last!).release();
    await (await third).release();
  });

  it('triggers lines that say what the call holds while it waits, as two calls that wait for each other do', async () => {
    b = bench({ slowWait: 20 });
    const [inA, inB] = [await b.service.acquire('a'), await b.service.acquire('b')];
    const refused = [
      inA.run(() => rejection(b.service.acquire('b', { waitTime: 60 }))),
      inB.run(() => rejection(b.service.acquire(['0', 'a'], { waitTime: 60 }))),
    ];
    await pass(100);
    await Promise.all(refused);
    expect([...b.warnings].sort()).toEqual([
      expect.stringMatching(/^A call for the lock "a" by \S+\/\d+ inside "b", "0" has waited for /),
      expect.stringMatching(/^A call for the lock "b" by \S+\/\d+ inside "a" has waited for /),
      expect.stringMatching(/^WAIT_TIMEOUT by \S+\/\d+ inside "a": Gave up waiting for the lock "b" /),
      expect.stringMatching(/^WAIT_TIMEOUT by \S+\/\d+ inside "b", "0": Gave up waiting for the lock "a" /),
    ]);
    await Promise.all([inA.release(), inB.release()]);
  });

  it('triggers no warning about its hold when the lock was lost', async () => {
    b = bench({ slowHold: 20 });
    const lost = await b.service.acquire('lost');
    const held = await b.service.acquire('held');
    b.store.lose('lost');
    await pass(40);
    expect(b.warnings).toEqual([
      expect.stringContaining('"lost" was lost'),
      expect.stringMatching(
        /"held" has been held .* by \S+, acquired at .*diagnostics\.spec\.ts:\d+:\d+\)?\. /,
      ),
    ]);
    await Promise.all([lost.release(), held.release()]);
  });

  it('triggers a warning when it gives up, once for each lock and at most every 10 s, and none is left out', async () => {
    b = bench({ slowWait: 10_000 });
    const lock = await b.service.acquire('order:1', { label: 'Orders.ship' });
    const giveUp = async (): Promise<void> => {
      const refused = rejection(b.service.acquire('order:1', { label: 'Orders.pay', waitTime: 3_000 }));
      await pass(3_000);
      expect(await refused).toMatchObject({ code: 'WAIT_TIMEOUT' });
    };
    for (let times = 0; times < 5; times += 1) await giveUp();
    expect(b.warnings).toEqual([
      expect.stringMatching(
        /^WAIT_TIMEOUT by \S+\/Orders\.pay: Gave up waiting for the lock "order:1" after 3 s, held by .*\/Orders\.ship for 3 s/,
      ),
      expect.stringMatching(/^WAIT_TIMEOUT by \S+ \(and 2 more since the last such warning\): Gave up /),
    ]);
    await pass(10_000);
    expect(b.warnings[2]).toMatch(/^WAIT_TIMEOUT by \S+: Gave up /);
    await rejection(b.service.acquire('order:1', { waitTime: 0 }));
    expect(b.warnings).toHaveLength(3);
    await lock.release();
  });

  it('triggers no warning where that is switched off', async () => {
    const lock = await b.service.acquire('k');
    const refused = rejection(b.service.acquire('k', { waitTime: 50 }));
    await pass(100);
    await refused;
    await lock.release();
    expect(b.warnings).toEqual([]);
  });
});
