import { AsyncLocalStorage } from 'node:async_hooks';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Redis } from 'ioredis';
import { InProcessClients, type InProcessClient } from '../support/in-process-client.js';
import { redisUrl, uniquePrefix } from '../support/redis.js';
import { deferred, eventually, SOON, within } from '../support/waiting.js';

/** Each command that a client sends, and what `store` says at that moment. */
interface Sent<T> {
  readonly command: string;
  readonly role: string;
  readonly store: T | undefined;
}

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

const lease = 1_500;

describe('the async context of what a Redis client does on its own', () => {
  const requests = new AsyncLocalStorage<object>();
  const clients = new InProcessClients(uniquePrefix(), {
    lease,
    livenessWindow: lease,
    commandTimeout: 1_000,
  });
  afterEach(() => clients.close());

  const startRecorded = async <T>(read: () => T | undefined): Promise<[InProcessClient, Sent<T>[]]> => {
    const sent: Sent<T>[] = [];
    const client = await clients.start((role) => {
      const redis = new Redis(redisUrl(), { lazyConnect: true });
      const send = redis.sendCommand.bind(redis);
      redis.sendCommand = (command, stream) => {
        sent.push({ command: command.name, role, store: read() });
        return send(command, stream);
      };
      return redis;
    });
    return [client, sent];
  };

  test('is no request: neither for the commands of a lock, nor for its heartbeats', async () => {
    const [{ service }, sent] = await startRecorded(() => requests.getStore());
    await requests.run({ request: 1 }, () =>
      service.withLock('k', async () => {
        const before = sent.length;
        const waiting = service.acquire('other', { waitTime: 2_000 });
        await (await waiting).release();
        await eventually(() => sent.length >= before + 5, SOON, 'heartbeats');
      }),
    );
    expect(sent.length).toBeGreaterThan(6);
    expect(sent.filter(({ store }) => store !== undefined)).toEqual([]);
  });

  test('is no request either after a lock was given back and taken anew from inside a request', async () => {
    const [{ service }, sent] = await startRecorded(() => requests.getStore());
    const held = await service.acquire('held');
    for (let i = 0; i < 20; i += 1) {
      await requests.run({ request: i }, () => service.withLock(`k${i}`, () => undefined));
    }
    const before = sent.length;
    await eventually(() => sent.length >= before + 3, SOON, 'heartbeats');
    await held.release();
    expect(sent.filter(({ store }) => store !== undefined)).toEqual([]);
  });

  test('keeps no finished request in memory while another lock is held', async () => {
    const { service } = await clients.start(redisUrl());
    const request = (key: string): WeakRef<object> => {
      const store = { key };
      void requests.run(store, () => service.withLock(key, () => service.withLock(key, () => undefined)));
      return new WeakRef(store);
    };
    // The first that asks is the one that arms the timer.
    const finished = [request('first')];
    const lock = await service.acquire('held');
    for (let i = 0; i < 20; i += 1) finished.push(request(`k${i}`));
    await (await service.acquire('k19')).release();
    const kept = (): number => finished.filter((store) => store.deref() !== undefined).length;
    await eventually(
      () => {
        collect();
        return kept() === 0;
      },
      SOON,
      'the stores of finished requests to be collected',
    );
    await lock.release();
  });

  test('an abort listener that locks does not nest in the hold of another flow', async () => {
    const { service, store } = await clients.start(redisUrl());
    const outcome = deferred<unknown>();
    const own = await service.acquire('other');
    own.signal.addEventListener('abort', () => outcome.resolve(service.tryAcquire('k')));
    await service.withLock('k', async () => {
      await store.forceRelease('other');
      expect(await within(outcome.promise, SOON, 'the loss')).toBeUndefined();
    });
    await own.release();
  });
});
