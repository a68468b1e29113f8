import { Redis } from 'ioredis';
import { InProcessClients } from '../support/in-process-client.js';
import { redisUrl, startRedisServer, uniquePrefix } from '../support/redis.js';
import { ScriptClient } from '../support/script-client.js';
import { eventually, pause, playedWithin, SOON } from '../support/waiting.js';

const TIMES = { window: 10_000, lease: 30_000, grace: 250 };
/** Beyond this (ms) after its deadline a client counts as gone for long. */
const RETENTION = 60_000;

describe('what dead waiters cost the others', () => {
  let redis: Redis;
  let subscriber: Redis;
  let prefix: string;
  const client = (times = TIMES): ScriptClient => new ScriptClient(redis, prefix, times);

  beforeAll(() => {
    redis = new Redis(redisUrl());
    subscriber = new Redis(redisUrl());
  });
  beforeEach(() => {
    prefix = uniquePrefix();
  });
  afterAll(() => {
    redis.disconnect();
    subscriber.disconnect();
  });

  const subscribed = async (): Promise<ScriptClient> => {
    const one = client();
    await subscriber.subscribe(one.channel);
    one.subscribed = [/run_id:(\w+)/.exec(await redis.info('server'))?.[1] ?? '', 10_000];
    return one;
  };

  test('a killed client whose liveness entry was lost is passed over at once all the same', async () => {
    const [holder, dead, live] = [client(), await subscribed(), await subscribed()];
    const grant = await holder.acquire();
    await dead.acquire();
    await live.acquire();
    await redis.zrem(dead.keys[2], dead.id);
    await subscriber.unsubscribe(dead.channel);
    await holder.release(grant.first, grant.sequence);
    expect((await live.heartbeat()).batch).toBe('1');
  });

  test('a live client whose liveness entry was lost keeps its place, under a new generation (M5)', async () => {
    const [holder, waiter] = [client(), await subscribed()];
    const grant = await holder.acquire();
    const place = await waiter.acquire();
    await redis.zrem(waiter.keys[2], waiter.id);
    await holder.release(grant.first, grant.sequence);
    const served = await waiter.heartbeat();
    expect(served.batch).toBe('1');
    expect(served.generation).not.toBe(place.generation);
  });

  test('a client that was silent for so long that its entry was swept does not get another window', async () => {
    const [holder, dead, live] = [client(), client(), client()];
    const grant = await holder.acquire();
    await dead.acquire();
    await redis.zadd(dead.keys[2], Date.now() - RETENTION - 1_000, dead.id);
    await live.acquire();
    expect(await redis.zscore(dead.keys[2], dead.id)).toBeNull();
    await holder.release(grant.first, grant.sequence);
    expect((await live.heartbeat()).batch).toBe('1');
  });

  test('a lock is free behind a client that was silent for so long that its entry was swept', async () => {
    const [holder, dead, live] = [client(), client(), client()];
    const grant = await holder.acquire();
    const place = await dead.acquire();
    await redis.zrem(dead.keys[2], dead.id);
    await redis.hdel(dead.keys[0], `client:${dead.id}`);
    await holder.release(grant.first, grant.sequence);
    expect((await dead.leave(place.sequence)).details[2]).toBe(-1);
    expect((await live.acquire()).status).toBe('GRANTED');
  });

  describe('a client that was silent for longer than its window, and calls again for a lock that is free', () => {
    let back: ScriptClient;
    beforeEach(async () => {
      back = client();
      await client().acquire({ fixed: 1_000 });
      const { sequence } = await back.acquire();
      expect(sequence).toBe(1);
      await redis.zadd(back.keys[2], 1, back.id);
      await pause(1_010);
    });

    test('keeps its place when a limited request of its own finds the line full (R5)', async () => {
      expect((await back.acquire({ maxQueue: 1 })).status).toBe('FULL');
      expect((await back.heartbeat()).batch).toBe('1');
    });

    test('is not overtaken by a try of its own (R5)', async () => {
      expect(await back.acquire({ tries: true })).toMatchObject({ status: 'BUSY', batch: '1' });
    });
  });

  test('records of clients that expired are swept while the lock is in use', async () => {
    const { keys } = client();
    for (let round = 0; round < 12; round += 1) {
      const [holder, ...waiters] = Array.from({ length: 26 }, () => client()) as [ScriptClient];
      const grant = await holder.acquire();
      const places = await Promise.all((waiters as ScriptClient[]).map((one) => one.acquire()));
      await Promise.all((waiters as ScriptClient[]).map((one, i) => one.leave(places[i]!.sequence)));
      // As it does 2 × commandTimeout after the line has emptied.
      await redis.del(keys[2]);
      await holder.release(grant.first, grant.sequence);
      await redis.persist(keys[0]);
    }
    const fields = await redis.hlen(keys[0]);
    await redis.pexpire(keys[0], RETENTION);
    expect(fields).toBeLessThan(150);
  });

  test('the record of a single client that expired is swept, too', async () => {
    const [holder, gone, next] = [client(), client(), client()];
    await holder.acquire();
    const place = await gone.acquire();
    await gone.leave(place.sequence);
    // As it does 2 × commandTimeout after the line has emptied.
    await redis.del(gone.keys[2]);
    await next.acquire();
    const fields = await redis.hkeys(next.keys[0]);
    expect(fields).toContain(`client:${next.id}`);
    expect(fields).not.toContain(`client:${gone.id}`);
  });

  describe('a try', () => {
    const behindTheDead = async (): Promise<ScriptClient> => {
      const [holder, ...dead] = [client(), await subscribed(), await subscribed()];
      const grant = await holder.acquire();
      for (const one of dead) await one.acquire();
      await subscriber.unsubscribe(...dead.map(({ channel }) => channel));
      await holder.release(grant.first, grant.sequence);
      return holder;
    };

    test('is told when the grace of the suspects in line ends, and then takes the lock', () =>
      playedWithin(TIMES.grace, async () => {
        prefix = uniquePrefix();
        await behindTheDead();
        const asker = client();
        const refused = await asker.acquire({ tries: true });
        expect(refused.status).toBe('BUSY');
        expect(refused.details[0]).toBe('');
        expect(refused.wake).toBeGreaterThan(0);
        expect(refused.wake).toBeLessThanOrEqual(TIMES.grace + 1);
        await pause(refused.wake + 5);
        expect((await asker.acquire({ tries: true, sequence: refused.sequence })).status).toBe('GRANTED');
      }));

    test('of a client gets the lock, instead of finding it busy', async () => {
      const clients = new InProcessClients(prefix);
      try {
        const { service } = await clients.start(redisUrl());
        await behindTheDead();
        const lock = await service.acquire('lock', { waitTime: 0 });
        await lock.release();
      } finally {
        await clients.close();
      }
    });

    test('does not overtake a waiter that is back within the grace', () =>
      playedWithin(TIMES.grace, async () => {
        prefix = uniquePrefix();
        await behindTheDead();
        const asker = client();
        const [place] = await redis.zrange(asker.keys[1], '0', '0');
        await subscriber.subscribe(`${prefix}:client:${place?.split(':')[0]}`);
        expect((await asker.acquire({ tries: true })).status).toBe('BUSY');
        expect((await redis.hmget(asker.keys[0], 'holder', 'requests')).join(':')).toBe(place);
      }));
  });

  describe('a full line', () => {
    /** Waiters of so many clients, as joining one by one would put them there; negative: silent for so long, ms. */
    const fill = async (one: ScriptClient, count: number, left: number, server = redis): Promise<void> => {
      const now = Date.now();
      const commands = server.pipeline();
      for (let i = 0; i < count; i += 1) {
        commands.zadd(one.keys[1], now * 1_000 + i, `w${i}:1`);
        commands.zadd(one.keys[2], now + left, `w${i}`);
        const record = `generation=${now * 1_000} server=- subscribed=${now} suspect=0 window=10000 reads=1 where=host/1`;
        commands.hset(one.keys[0], `client:w${i}`, record);
      }
      for (const key of one.keys.slice(1)) commands.pexpire(key, RETENTION);
      await commands.exec();
    };

    /** How many commands one refusal runs, those of its script included. */
    const costOfRefusal = async (server: Redis, waiters: number): Promise<number> => {
      const prefixOfLine = uniquePrefix();
      const holder = new ScriptClient(server, prefixOfLine, TIMES);
      const newcomer = new ScriptClient(server, prefixOfLine, TIMES);
      await holder.acquire();
      await fill(holder, waiters, 10_000, server);
      const before = await commandsRun(server);
      expect((await newcomer.acquire({ maxQueue: 1 })).status).toBe('FULL');
      return (await commandsRun(server)) - before;
    };

    const commandsRun = async (server: Redis): Promise<number> => {
      const calls = (await server.info('commandstats')).matchAll(/calls=(\d+)/g);
      return [...calls].reduce((sum, [, count]) => sum + Number(count), 0);
    };

    test('refuses at the same cost however many wait', async () => {
      // Its own server: what other tests do would be counted, too.
      const server = await startRedisServer();
      const own = new Redis(server.url);
      try {
        const [few, many] = [await costOfRefusal(own, 20), await costOfRefusal(own, 2_000)];
        expect(many).toBeLessThanOrEqual(few + 5); // which entries are looked at differs from call to call
        expect(many).toBeLessThan(50);
      } finally {
        own.disconnect();
        await server.stop();
      }
    });

    test('makes room at once where all are dead', async () => {
      const [holder, newcomer] = [client(), client()];
      await holder.acquire();
      await fill(holder, 2_000, -30_000);
      // A clientele that is overdue at once gets one more window (R7), which is over.
      await redis.hset(holder.keys[0], 'grace-until', Date.now() - 1);
      expect((await newcomer.acquire({ maxQueue: 2_000 })).status).toBe('QUEUED');
    });

    test('makes room sooner or later where one is dead', async () => {
      const [holder, newcomer] = [client(), client()];
      await holder.acquire();
      await fill(holder, 100, 10_000);
      await redis.zadd(holder.keys[2], 1, 'w50');
      await eventually(
        async () => (await newcomer.acquire({ maxQueue: 100 })).status === 'QUEUED',
        SOON,
        'the newcomer to be let in',
      );
    });
  });
});
