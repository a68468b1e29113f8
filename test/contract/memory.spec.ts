import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { jest } from '@jest/globals';
import { LockTimeoutError } from '../../lib/core/errors/errors.js';
import { MemoryLockStore } from '../../lib/stores/memory/memory-lock-store.js';
import { describeLockStore } from './lock-store.contract.js';
import { capabilities, memoryLine } from './memory.line.js';
import { TestRequest } from './store-under-test.js';
import { ask } from '../support/ask.js';

describeLockStore('memory', memoryLine, capabilities);

describe('the memory store, beyond the contract', () => {
  afterEach(() => void jest.useRealTimers());

  test('two instances know nothing of each other, but no token comes twice', async () => {
    const [one, other] = [new MemoryLockStore(), new MemoryLockStore()];
    const first = await new TestRequest(one, 'key', {}).granted();
    const second = await new TestRequest(other, 'key', { waitTime: 0 }).granted();
    expect(first.lease.state).toBe('held');
    expect(second.token).toBeGreaterThan(first.token ?? Infinity);
  });

  test('tokens rise although the wall clock is set back, and keep up with it otherwise', async () => {
    jest.useFakeTimers({ now: Date.now() });
    const store = new MemoryLockStore();
    const take = async (): Promise<number> => {
      const grant = await ask(store, { key: 'key', waitTime: 0, maxQueue: Infinity, label: 'test' });
      await grant.release();
      return grant.token ?? NaN;
    };
    const first = await take();
    expect(first).toBeGreaterThanOrEqual(Date.now() * 1_000);
    jest.setSystemTime(Date.now() - 3_600_000);
    expect(await take()).toBe(first + 1);
  });

  test('nothing is left at rest: no timer', async () => {
    jest.useFakeTimers();
    const store = new MemoryLockStore();
    const acquire = (waitTime: number) =>
      ask(store, { key: 'key', waitTime, leaseTime: 60_000, maxQueue: Infinity, label: 'test' });

    const holder = await acquire(60_000);
    const waiter = acquire(60_000);
    const loser = acquire(1_000).catch((error: unknown) => error);
    await jest.advanceTimersByTimeAsync(1_000);
    expect(await loser).toBeInstanceOf(LockTimeoutError);
    await holder.release();
    await (await waiter).release();

    expect(jest.getTimerCount()).toBe(0);
  });

  test('nothing is left of a closed store either', async () => {
    jest.useFakeTimers();
    const store = new MemoryLockStore();
    const request = { key: 'key', waitTime: 60_000, maxQueue: Infinity, label: 'test' };
    await ask(store, { ...request, leaseTime: 60_000 });
    const waiter = ask(store, request).catch(() => 'refused');
    await store.close();
    expect(await waiter).toBe('refused');
    expect(jest.getTimerCount()).toBe(0);
  });

  test('a free lock takes no memory', async () => {
    const store = new MemoryLockStore();
    const padding = 'x'.repeat(1_000);
    const cycle = async (count: number): Promise<void> => {
      for (let i = 0; i < count; i += 1) {
        const request = { key: `${padding}${i}`, waitTime: 1_000, maxQueue: Infinity, label: 'test' };
        const grant = await ask(store, request);
        const waiter = ask(store, request);
        await grant.release();
        await (await waiter).release();
      }
    };
    await cycle(1_000);
    const before = heapUsed();
    await cycle(50_000);
    // 50,000 kept names alone would be 50 MB.
    expect(heapUsed() - before).toBeLessThan(10_000_000);
  });

  test('a request costs the same whether twenty thousand wait or two hundred, to be served and to leave', async () => {
    const store = new MemoryLockStore();
    const request = { key: 'key', waitTime: 60_000, maxQueue: Infinity, label: 'test' };
    /** Microseconds of CPU a request; the half at the back leaves, in a scattered order, then the others are served. */
    const cost = async (count: number): Promise<number> => {
      const holder = await ask(store, request);
      const controllers = Array.from({ length: count }, () => new AbortController());
      const start = process.cpuUsage();
      const waits = controllers.map(({ signal }) => ask(store, { ...request, signal }));
      for (let i = 0; i < count / 2; i += 1) controllers[count / 2 + ((i * 7) % (count / 2))]?.abort();
      await holder.release();
      const outcomes = await Promise.all(
        waits.map((wait) =>
          wait.then(
            (grant) => grant.release().then(() => 'served'),
            () => 'left',
          ),
        ),
      );
      const { user, system } = process.cpuUsage(start);
      expect(outcomes.filter((outcome) => outcome === 'served')).toHaveLength(count / 2);
      return (user + system) / count;
    };
    /** The best of several, since others use the machine too. */
    const best = async (count: number, rounds: number): Promise<number> => {
      const costs = [];
      for (let round = 0; round < rounds; round += 1) costs.push(await cost(count));
      return Math.min(...costs);
    };
    await best(200, 10); // warm
    const few = await best(200, 10);
    const many = await best(20_000, 3);
    // Garbage collection makes it 2. A step that looks at every waiter at each departure makes it 5 or 6, one that copies the line 11.
    expect(many / few).toBeLessThan(5);
  });
});

function heapUsed(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  return process.memoryUsage().heapUsed;
}
