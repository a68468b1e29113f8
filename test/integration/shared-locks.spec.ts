import { Redis } from 'ioredis';
import { LockProtocolError } from '../../lib/core/errors/errors.js';
import type { Grant, LockRequest, LockStore } from '../../lib/core/port/lock-store.js';
import { Wait } from '../../lib/core/port/wait.js';
import { InProcessClients } from '../support/in-process-client.js';
import { startRedisServer, redisUrl, uniquePrefix, type RedisServer } from '../support/redis.js';
import { ScriptClient } from '../support/script-client.js';
import { eventually, pause, SOON } from '../support/waiting.js';

const SCRIPT_TIMES = { window: 2_000, lease: 800, grace: 250 };
const READ = { mode: 'read' } as const;
const permits = (limit: number, weight = 1) => ({ mode: 'permits', permits: limit, weight }) as const;

describe('a lock that several hold', () => {
  let redis: Redis;
  let prefix: string;
  let clients: InProcessClients;

  beforeAll(() => {
    redis = new Redis(redisUrl());
  });
  beforeEach(() => {
    prefix = uniquePrefix();
    clients = new InProcessClients(prefix);
  });
  afterEach(() => clients.close());
  afterAll(() => redis.disconnect());

  const byHand = (): ScriptClient => new ScriptClient(redis, prefix, SCRIPT_TIMES);
  const start = async (url = redisUrl()): Promise<LockStore> => (await clients.start(url)).store;
  const ask = (store: LockStore, request: Partial<LockRequest> = {}): Promise<Grant> =>
    store.acquire(new Wait({ key: 'lock', waitTime: 60_000, maxQueue: Infinity, label: 'test', ...request }));
  const used = async (): Promise<string | null> => redis.hget(byHand().keys[0], 'used');
  const inLine = async (count: number): Promise<void> =>
    eventually(
      async () => (await redis.zcard(byHand().keys[1])) === count,
      SOON,
      `${count} requests in line`,
    );

  test('a holder that dies gives back exactly its weight, when its lease is over, and once', async () => {
    const [dead, store] = [byHand(), await start()];
    const died = await dead.acquireShared('p3/5');
    const stays = await ask(store, { share: permits(5) });
    const grant = await ask(store, { share: permits(5, 4) });
    expect(await used()).toBe('5');
    await dead.releaseShared([died.sequence]);
    expect(await used()).toBe('5');
    await Promise.all([stays.release(), grant.release()]);
  });

  test('of a client that dies in line, those behind it are served when the lock is passed on', async () => {
    const [dead, store] = [byHand(), await start()];
    const holder = await ask(store, { share: permits(2, 2) });
    await dead.acquireShared('p2/2');
    const next = ask(store, { share: permits(2) });
    await inLine(2);
    await pause(SCRIPT_TIMES.window + 100);
    await holder.release();
    await (await next).release();
  });

  test('if a message is lost, the next heartbeat lists the hold', async () => {
    const [holder, waiter] = [byHand(), byHand()];
    const first = await holder.acquireShared('p1/1');
    const { sequence } = await waiter.acquireShared('p1/1');
    await holder.releaseShared([first.sequence]);
    const beat = await waiter.heartbeat('shared');
    expect(beat.shares.map((share) => share.split(':')[0])).toEqual([String(sequence)]);
    expect(beat.status).toBe('RENEWED');
    await waiter.releaseShared([sequence]);
  });

  test('each client gets one message for all that it was admitted to by one command', async () => {
    const [writer, one, other] = [byHand(), byHand(), byHand()];
    const subscriber = new Redis(redisUrl());
    const messages: string[] = [];
    subscriber.on('message', (channel: string, text: string) =>
      messages.push(`${channel} ${text.split(' ')[0]}`),
    );
    await subscriber.subscribe(one.channel, other.channel);
    const { first, sequence } = await writer.acquire();
    for (const client of [one, other, one, other, one]) await client.acquireShared('r');
    await writer.release(first, sequence);
    await eventually(() => messages.length >= 2, SOON, 'the messages');
    expect(messages.sort()).toEqual([`${one.channel} shared`, `${other.channel} shared`].sort());
    expect(await used()).toBe('5');
    subscriber.disconnect();
  });

  test('if the hash is evicted, each holder learns it by its next heartbeat, and the lock is free', async () => {
    const [one, other] = [await start(), await start()];
    const holds = [await ask(one, { share: READ }), await ask(other, { share: READ })];
    await redis.del(byHand().keys[0]);
    const writer = await ask(other, { waitTime: 0 });
    await eventually(() => holds.every(({ lease }) => lease.state === 'lost'), SOON, 'both to be told');
    await Promise.all(holds.map((hold) => hold.release()));
    expect(writer.lease.state).toBe('held');
    await writer.release();
  });

  test('if the line is evicted, those who wait are served all the same', async () => {
    const [one, other] = [await start(), await start()];
    const holder = await ask(one, { share: permits(1) });
    const next = [ask(other, { share: permits(1) }), ask(one, {}), ask(other, { share: READ })];
    await inLine(3);
    await redis.del(...byHand().keys.slice(1));
    await holder.release();
    await Promise.all(next.map(async (grant) => (await grant).release()));
  });

  test('a lock that was shared is a plain one again when nobody uses it', async () => {
    const [reader, plain] = [byHand(), byHand()];
    const { sequence } = await reader.acquireShared('r');
    expect(await redis.hget(reader.keys[0], 'format')).toBe('2');
    await reader.releaseShared([sequence]);
    await plain.acquire();
    const fields = await redis.hgetall(reader.keys[0]);
    expect(fields).toMatchObject({ format: '1', state: 'held' });
    expect(
      Object.keys(fields).filter((field) => /^held:|^(used|mode|limit|first-end|last-end)$/.test(field)),
    ).toEqual([]);
  });

  test('a thousand readers of one process are renewed by one command', async () => {
    const server: RedisServer = await startRedisServer();
    const admin = new Redis(server.url);
    try {
      const store = await start(server.url);
      const holds: Grant[] = [];
      for (let i = 0; i < 20; i += 1)
        holds.push(...(await Promise.all(Array.from({ length: 50 }, () => ask(store, { share: READ })))));
      const scripts = async (): Promise<number> =>
        Number(/cmdstat_evalsha:calls=(\d+)/.exec(await admin.info('commandstats'))![1]);
      const beats = clients.times.livenessWindow / 3;
      const before = await scripts();
      await pause(3 * beats);
      expect(await scripts()).toBeGreaterThan(before);
      expect((await scripts()) - before).toBeLessThanOrEqual(4);
      expect(holds.every(({ lease }) => lease.state === 'held')).toBe(true);
      await Promise.all(holds.map((hold) => hold.release()));
    } finally {
      await clients.close();
      admin.disconnect();
      await server.stop();
    }
  });

  describe('beside processes that do not know it', () => {
    /** A client of an earlier version, by its id. */
    const older = (): ScriptClient => Object.assign(byHand(), { id: 'earlier' });

    test.each(['holds the lock', 'waits for it'])(
      'is refused while one of them %s, and not after that',
      async (what) => {
        const [old, holder, store] = [older(), byHand(), await start()];
        const { first, sequence } = await (what === 'waits for it' ? holder : old).acquire();
        const waiting = what === 'waits for it' ? await old.acquire() : undefined;
        const error = await ask(store, { share: READ }).catch((reason: unknown) => reason);
        expect(error).toBeInstanceOf(LockProtocolError);
        expect(error).toMatchObject({ status: 503 });
        expect((error as LockProtocolError).details).toMatch(/processes of an earlier version/);
        if (waiting) await old.leave(waiting.sequence);
        await (waiting ? holder : old).release(first, sequence);
        await (await ask(store, { share: READ })).release();
      },
    );
  });
});
