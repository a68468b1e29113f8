import type { FairLockService } from '../../lib/core/engine/fair-lock-service.js';
import { InProcessClients } from '../support/in-process-client.js';
import { redisUrl, uniquePrefix } from '../support/redis.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { deferred } from '../support/waiting.js';

describe('requests that are made in the same moment', () => {
  let clients: InProcessClients;
  beforeEach(() => {
    clients = new InProcessClients(uniquePrefix());
  });
  afterEach(() => clients.close());

  const take = (service: FairLockService, count: number, key: string, served: number[]): Promise<unknown> =>
    Promise.all(
      Array.from({ length: count }, async (_, i) => {
        const lock = await service.acquire(key);
        served.push(i);
        await lock.release();
      }),
    );

  test('are put in line by a few commands, and served in the order of the calls', async () => {
    const proxy = await TcpProxy.start(redisUrl());
    const { service } = await clients.start(proxy.url);
    const warm = await service.acquire('other');
    await warm.release();
    let commands = 0;
    const stop = proxy.listenTo(() => (commands += 1));
    const served: number[] = [];
    await take(service, 500, 'k', served);
    stop();
    await proxy.close();
    expect(served).toEqual(Array.from({ length: 500 }, (_, i) => i));
    // 2 to queue up, 8 runs of at most 64 to give back; heartbeats while it lasts.
    expect(commands).toBeLessThanOrEqual(20);
  });

  test('keep their order also where some want other terms', async () => {
    const { service } = await clients.start(redisUrl());
    const holder = await service.acquire('k');
    const order: string[] = [];
    const ask = async (name: string, options = {}): Promise<void> => {
      const lock = await service.acquire('k', options);
      order.push(name);
      await lock.release();
    };
    const asked = [
      ask('a'),
      ask('b'),
      ask('c', { leaseTime: 5_000 }),
      ask('d'),
      ask('e', { maxQueue: 10 }),
      ask('f'),
    ];
    const busy = service.tryAcquire('k');
    expect(await busy).toBeUndefined();
    await holder.release();
    await Promise.all(asked);
    expect(order.join('')).toBe('abcdef');
  });

  test('get to know their places, one behind the other, and may leave from any of them', async () => {
    const { service } = await clients.start(redisUrl());
    const { service: other } = await clients.start(redisUrl());
    const holder = await other.acquire('k');
    const leave = new AbortController();
    const places = Array.from({ length: 5 }, () => deferred<number>());
    const waits = places.map(({ resolve }, i) =>
      service
        .acquire('k', { onQueued: resolve, ...(i === 2 && { signal: leave.signal }) })
        .then((lock) => lock.release().then(() => i))
        .catch(() => 'left'),
    );
    expect(await Promise.all(places.map(({ promise }) => promise))).toEqual([0, 1, 2, 3, 4]);
    leave.abort();
    expect(await waits[2]).toBe('left');
    await holder.release();
    expect(await Promise.all(waits)).toEqual([0, 1, 'left', 3, 4]);
  });
});
