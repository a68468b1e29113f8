import { Redis } from 'ioredis';
import { LockProtocolError } from '../../lib/core/errors/errors.js';
import { InProcessClients } from '../support/in-process-client.js';
import { redisUrl, uniquePrefix } from '../support/redis.js';
import { ScriptClient } from '../support/script-client.js';

const TIMES = { window: 10_000, lease: 30_000, grace: 250 };

describe('data and arguments that the scripts cannot read', () => {
  let redis: Redis;
  let client: () => ScriptClient;
  let clients: InProcessClients;

  beforeAll(() => {
    redis = new Redis(redisUrl());
  });
  beforeEach(() => {
    const prefix = uniquePrefix();
    clients = new InProcessClients(prefix);
    client = () => new ScriptClient(redis, prefix, TIMES);
  });
  afterEach(() => clients.close());
  afterAll(() => redis.disconnect());

  const state = async ([hash, queue, clients]: readonly [string, string, string]): Promise<unknown> =>
    Promise.all([redis.hgetall(hash), redis.zrange(queue, '0', '-1', 'WITHSCORES'), redis.zcard(clients)]);

  /** Fields of a lock that another program, or a fault, has changed. */
  const DAMAGES: readonly Record<string, string>[] = [
    { format: '' },
    { format: 'x' },
    { format: '0' },
    { state: '' },
    { state: 'taken' },
    { token: '' },
    { token: '1795254411509900000' },
    { 'last-token': '-1' },
    { 'last-token': '1.7976931348623157e+308' },
    { since: 'yesterday' },
    { lease: '9300000000000000000' },
    { lease: '33.3' },
  ];
  const MISSING = ['format', 'holder', 'requests', 'token', 'since', 'lease', 'label', 'last-token'];

  const everyScriptRefuses = async (one: ScriptClient, error: RegExp): Promise<void> => {
    const before = await state(one.keys);
    for (const command of [
      () => one.acquire(),
      () => one.acquire({ tries: true }),
      () => one.acquireShared('r'),
      () => one.releaseShared([1]),
      () => one.join(7, 3),
      () => one.heartbeat(),
      () => one.leave(1),
      () => one.inspect(),
      () => one.release(1_795_254_411_509_900, 1),
      () => one.forceRelease(1_795_254_411_509_900),
    ]) {
      await expect(command()).rejects.toThrow(error);
    }
    expect(await state(one.keys)).toEqual(before);
  };

  test.each(DAMAGES)('of a lock with %j every script says so, and writes nothing', async (damage) => {
    const [holder, one] = [client(), client()];
    await holder.acquire();
    await redis.hset(one.keys[0], damage);
    await everyScriptRefuses(one, /^PROTOCOL /);
  });

  test.each(MISSING)('of a held lock without %s every script says so, and writes nothing', async (field) => {
    const [holder, one] = [client(), client()];
    await holder.acquire();
    await redis.hdel(one.keys[0], field);
    await everyScriptRefuses(one, /^PROTOCOL /);
  });

  describe('a lock in a newer format', () => {
    const newer = async (): Promise<ScriptClient> => {
      const [holder, one, two] = [client(), client(), client()];
      await holder.acquire();
      await one.acquire();
      await two.acquire();
      await redis.hset(one.keys[0], { format: '3', state: 'shared', holder: '' });
      return one;
    };

    test('is left as it is by every script, each of which names both versions', async () => {
      const one = await newer();
      await everyScriptRefuses(one, /^NEWER 3 2/);
      await expect(one.forceRelease('unreadable')).rejects.toThrow(/^NEWER 3 2/);
      expect(await redis.hget(one.keys[0], 'state')).toBe('shared');
    });

    test('is a LockProtocolError of status 503 to a caller, which says what to do', async () => {
      const { service, store } = await clients.start(redisUrl());
      const one = await newer();
      const before = await state(one.keys);
      for (const call of [
        () => service.acquire('lock'),
        () => service.acquire('lock', { waitTime: 0 }),
        () => store.inspect('lock'),
        () => store.forceRelease('lock'),
      ]) {
        const error = await call().then(
          () => undefined,
          (reason: unknown) => reason as LockProtocolError,
        );
        expect(error).toBeInstanceOf(LockProtocolError);
        expect(error?.details).toMatch(/in format 3, .* reads formats up to 2\. Update this application/);
        expect(error?.status).toBe(503);
      }
      expect(await state(one.keys)).toEqual(before);
    });
  });

  test.each(DAMAGES)('a forced release without a token clears a lock with %j away', async (damage) => {
    const [holder, one, two] = [client(), client(), client()];
    await holder.acquire();
    await one.acquire();
    await redis.hset(one.keys[0], damage);
    await redis.persist(one.keys[0]);
    expect((await two.forceRelease('unreadable')).status).toBe('FORCED');
    // It goes to the one who waits.
    expect((await one.heartbeat()).batch).toBe('1');
    expect(await redis.pttl(one.keys[0])).toBeGreaterThan(0);
  });

  test('and leaves a grant that can be read', async () => {
    const holder = client();
    const grant = await holder.acquire();
    expect((await client().forceRelease('unreadable')).status).toBe('FREE');
    expect((await holder.heartbeat(grant.first, false)).status).toBe('RENEWED');
  });

  test('a caller gets a LockProtocolError, and forceRelease makes the lock usable again', async () => {
    const { service, store } = await clients.start(redisUrl());
    await redis.hset(client().keys[0], 'state', 'taken');
    await expect(service.acquire('lock')).rejects.toThrow(LockProtocolError);
    await expect(store.inspect('lock')).rejects.toThrow(LockProtocolError);
    expect(await store.forceRelease('lock')).toBe(true);
    const lock = await service.acquire('lock');
    await lock.release();
  });

  test('an entry of the queue that no client has is dropped', async () => {
    const [holder, waiter] = [client(), client()];
    const grant = await holder.acquire();
    await waiter.acquire();
    await redis.zadd(holder.keys[1], 1, 'no member of ours', 2, ':1', 3, 'x:1:1.7e+308');
    await holder.release(grant.first, grant.sequence);
    expect((await waiter.heartbeat()).batch).toBe('1');
  });

  const LEASES = [Number.MAX_VALUE, 9.3e18, 1e21, 2 ** 53 + 2, 33.3, -5, NaN];

  test.each(LEASES)('a lease of %s ms is refused before the first write', async (fixed) => {
    const one = client();
    await expect(one.acquire({ fixed })).rejects.toThrow(/^PROTOCOL /);
    expect(await redis.exists(...one.keys)).toBe(0);
  });

  test.each(LEASES)('a lease of %s ms is refused in line, too', async (fixed) => {
    const [holder, one] = [client(), client()];
    await holder.acquire();
    const before = await state(one.keys);
    await expect(one.acquire({ fixed })).rejects.toThrow(/^PROTOCOL /);
    expect(await state(one.keys)).toEqual(before);
  });
});
