import { once } from 'node:events';
import { Cluster, type Redis } from 'ioredis';
import { type FairLockError, LockConfigurationError } from '../../lib/core/errors/errors.js';
import { RedisLockStore } from '../../lib/stores/redis/redis-lock-store.js';
import type { RedisLockStoreOptions } from '../../lib/stores/redis/store-options.js';
import { InProcessClients, type InProcessClient } from '../support/in-process-client.js';
import { OwnServer } from '../support/own-server.js';
import { uniquePrefix, type RedisServer } from '../support/redis.js';
import { Replicas } from '../support/replicas.js';
import { eventually, pause, within } from '../support/waiting.js';
import { inLine, refusal } from '../support/requests.js';

/** Short, since many tests wait for a whole lease; ms. */
const TIMES = { lease: 3_000, livenessWindow: 2_000, commandTimeout: 1_000 };
const MAX_LEASE = 3_500;
/** Far beyond all bounds. */
const TIME_LIMIT = 30_000;

describe('strict mode', () => {
  let prefix: string;
  let opened: InProcessClients[];
  const begin = (): void => {
    prefix = uniquePrefix();
    opened = [];
  };
  const end = (): Promise<unknown> => Promise.all(opened.map((clients) => clients.close()));

  const clientsWith = (more: Partial<RedisLockStoreOptions>): InProcessClients => {
    const clients = new InProcessClients(prefix, TIMES, more);
    opened.push(clients);
    return clients;
  };
  const strict = (more: Partial<RedisLockStoreOptions> = {}): InProcessClients =>
    clientsWith({ maxLease: MAX_LEASE, ...more });
  const marker = (): string => `${prefix}:primary`;

  /** Clients of a server whose first wait is over. */
  const settled = async (
    redis: RedisLockStoreOptions['redis'],
    many: number,
    more: Partial<RedisLockStoreOptions> = {},
  ): Promise<InProcessClient[]> => {
    const clients = strict(more);
    const all = [];
    for (let i = 0; i < many; i += 1) all.push(await clients.start(redis));
    const [first] = all;
    await (await first?.service.acquire('first start'))?.release();
    return all;
  };

  describe('on one server', () => {
    const own = new OwnServer({ config: { appendonly: 'yes', appendfsync: 'always' } });

    describe('whose first wait is over', () => {
      let one: InProcessClient;
      let other: InProcessClient;
      beforeAll(async () => {
        begin();
        [one, other] = (await settled(own.url, 2)) as [InProcessClient, InProcessClient];
      });
      afterAll(end);

      test('the marker is kept with a life of its own, and its time does not move while the server stays', async () => {
        const before = await own.admin.hgetall(marker());
        expect(before).toMatchObject({
          id: /run_id:(\w+)/.exec(await own.admin.info('server'))?.[1],
          lease: String(MAX_LEASE),
        });
        expect(await own.admin.pttl(marker())).toBeGreaterThan(10 * MAX_LEASE);
        for (let i = 0; i < 5; i += 1) await (await one.service.acquire('k')).release();
        await strict().start(own.url);
        expect(await own.admin.hgetall(marker())).toEqual(before);
      });

      test('a fixed lease longer than maxLease is refused', async () => {
        const error = await refusal(one.service.acquire('k', { leaseTime: MAX_LEASE + 1 }));
        expect(error).toBeInstanceOf(LockConfigurationError);
        expect((error as FairLockError).details).toMatch(/longer than maxLease \(3500 ms\)/);
        await (await one.service.acquire('k', { leaseTime: MAX_LEASE })).release();
      });

      test('a client of the same prefix that is not strict is refused with what to do', async () => {
        const loose = await clientsWith({}).start(own.url);
        const error = await refusal(loose.service.acquire('k'));
        expect(error).toBeInstanceOf(LockConfigurationError);
        expect((error as FairLockError).details).toMatch(/Set strict: true for all clients/);
        expect(await refusal(loose.service.tryAcquire('k'))).toBeInstanceOf(LockConfigurationError);
      });

      test('clients of another prefix are not concerned', async () => {
        const others = new InProcessClients(uniquePrefix(), TIMES);
        opened.push(others);
        await (await (await others.start(own.url)).service.acquire('k')).release();
      });

      test('data that is lost: nothing is granted before maxLease has passed', async () => {
        const lock = await one.service.acquire('k');
        // A heartbeat may find the data gone before this process reads the answer.
        const flushed = performance.now();
        await own.admin.flushall();
        const next = await other.service.acquire('k');
        expect(performance.now() - flushed).toBeGreaterThan(MAX_LEASE - 1);
        expect(lock.state).toBe('lost');
        expect(next.token).toBeGreaterThan(lock.token ?? NaN);
        await next.release();
      });

      test('a restart of the server with its data is a new primary, too: who holds goes on, who waits waits for maxLease', async () => {
        const lock = await one.service.acquire('k');
        const { granted } = await inLine(other, 'k');
        // The holder may reach the new server before this process reads that it is back.
        const restarted = performance.now();
        await own.server.restart();
        await pause(TIMES.lease / 2);
        lock.assertHeld();
        await lock.release();
        const next = await within(granted, TIME_LIMIT, 'the turn');
        expect(performance.now() - restarted).toBeGreaterThan(MAX_LEASE - 1);
        // To the millisecond, by the clock of Redis, which tokens show in µs.
        const since = Number(await own.admin.hget(marker(), 'since'));
        expect(Number(next.token) / 1_000).toBeGreaterThanOrEqual(since + MAX_LEASE);
        await next.release();
      });

      test('of clients with different maxLease the longest counts', async () => {
        const longer = await strict({ maxLease: 2 * MAX_LEASE }).start(own.url);
        expect(await own.admin.hget(marker(), 'lease')).toBe(String(2 * MAX_LEASE));
        await (await longer.service.acquire('k')).release();
        await strict().start(own.url);
        expect(await own.admin.hget(marker(), 'lease')).toBe(String(2 * MAX_LEASE));
      });
    });

    describe('that it has not seen before', () => {
      beforeEach(begin);
      afterEach(end);

      const waitsOf = ({ warnings }: InProcessClient): string[] =>
        warnings.filter((warning) => /grants nothing for the next \d+ ms/.test(warning));

      test('the first start waits for maxLease once, and says so; then requests of one moment, which queued up together, are served in their order, and later ones at once', async () => {
        const clients = strict();
        const started = performance.now();
        const first = await clients.start(own.url);
        expect(waitsOf(first)).toHaveLength(1);
        expect(await first.service.tryAcquire('k')).toBeUndefined();
        const served: number[] = [];
        await Promise.all(
          [0, 1, 2].map(async (index) => {
            const lock = await first.service.acquire('k');
            expect(performance.now() - started).toBeGreaterThan(MAX_LEASE - TIMES.commandTimeout);
            served.push(index);
            await lock.release();
          }),
        );
        expect(served).toEqual([0, 1, 2]);
        const second = await clients.start(own.url);
        expect(waitsOf(second)).toEqual([]);
        for (const client of [first, second]) await (await client.service.tryAcquire('k'))?.release();
        expect((await second.service.tryAcquire('k'))?.state).toBe('held');
      });

      test('a client that is not strict and was there before is refused when it connects again, in line as well', async () => {
        const early = await clientsWith({}).start(own.url);
        const held = await early.service.acquire('k');
        const { granted } = await inLine(early, 'k');
        await strict().start(own.url);
        await own.admin.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
        expect(await refusal(granted)).toBeInstanceOf(LockConfigurationError);
        expect(await refusal(early.service.acquire('other'))).toBeInstanceOf(LockConfigurationError);
        // What it holds it may finish.
        held.assertHeld();
        await held.release();
      });

      test('where INFO is not permitted requests fail with what to do; a client that was refused is granted locks when the reason is gone, without a new connection', async () => {
        await own.admin.call('ACL', 'SETUSER', 'locker', 'on', '>secret', '~*', '&*', '+@all', '-info');
        const client = await strict().start(own.urlOf('locker'));
        const other = await clientsWith({}).start(own.url);
        const error = await refusal(client.service.acquire('k'));
        expect(error).toBeInstanceOf(LockConfigurationError);
        expect((error as FairLockError).details).toMatch(/permit INFO/);
        expect(client.warnings.join()).toMatch(/permit INFO/);
        const locks = async ({ service }: InProcessClient): Promise<boolean> => {
          const request = service.acquire('k').then((lock) => lock.release());
          return (await refusal(request)) === 'was granted';
        };
        await own.admin.call('ACL', 'SETUSER', 'locker', '+info');
        await eventually(() => locks(client), TIME_LIMIT, 'the right to be seen');
        await own.admin.call('CLIENT', 'KILL', 'USER', 'default', 'SKIPME', 'yes');
        await eventually(async () => !(await locks(other)), TIME_LIMIT, 'the marker to be seen');
        await client.close();
        await own.admin.del(marker());
        await eventually(() => locks(other), TIME_LIMIT, 'the missing marker to be seen');
      });
    });
  });

  test('a Cluster is refused: a marker in one slot says nothing about the other masters', () => {
    const cluster = new Cluster([{ host: '127.0.0.1', port: 1 }], { lazyConnect: true });
    const open = (): unknown =>
      new RedisLockStore({
        redis: cluster,
        keyPrefix: uniquePrefix(),
        ...TIMES,
        maxLease: MAX_LEASE,
        onWarning: () => undefined,
      });
    expect(open).toThrow(LockConfigurationError);
    expect(open).toThrow(/strict does not work on a Redis Cluster/);
  });

  describe('when a replica takes over', () => {
    let servers: Replicas;
    let replica: RedisServer;
    beforeEach(async () => {
      begin();
      servers = await Replicas.start(1);
      [replica] = servers.replicas as [RedisServer];
    });
    afterEach(async () => {
      await servers.thaw(servers.primary);
      await end();
      await servers.close();
    });

    test('that never learned of a grant, it grants no lock before the holder knows that it is lost, nor to a client that was started after the failover', async () => {
      const [holder] = (await settled(servers.primary.url, 1)) as [InProcessClient];
      await servers.followed(1);
      await servers.promote(replica);
      const lock = await holder.service.acquire('k');
      let lostAt = Infinity;
      lock.signal.addEventListener('abort', () => (lostAt = performance.now()));
      // The primary's clients stay with it; `source` leads to the replica, which never learned of the grant.
      await servers.freeze(servers.primary);
      servers.lead(replica);
      const other = await strict().start(servers.source);
      const granted = other.service.acquire('k');
      const late = await strict().start(servers.source);
      expect(late.warnings.join()).toMatch(/grants nothing for the next/);
      const next = await Promise.race([granted, late.service.acquire('any')]);
      expect(performance.now()).toBeGreaterThan(lostAt);
      expect(lock.state).toBe('lost');
      await next.release();
      await (await granted).release();
    });

    test('under a connection that stood all through its promotion, as well', async () => {
      const [holder] = (await settled(servers.primary.url, 1)) as [InProcessClient];
      await servers.followed(1);
      servers.lead(replica);
      const connections: Redis[] = [];
      const early = await strict().start(() => {
        const client = servers.source();
        connections.push(client);
        return client;
      });
      // A replica refuses it.
      expect(await refusal(early.service.acquire('k'))).toMatchObject({
        code: 'STORE_UNAVAILABLE',
      });
      // The client leaves a server that refuses writes, at most once in a command deadline; until then the connection stays.
      await once(connections[0]!, 'close');
      await eventually(
        () => connections.every(({ status }) => status === 'ready'),
        TIME_LIMIT,
        'the connections',
      );
      const closed: unknown[] = [];
      for (const client of connections) client.on('close', () => closed.push(client.options.host));
      await servers.promote(replica);
      const promoted = performance.now();
      const lock = await holder.service.acquire('k');
      const next = await early.service.acquire('k');
      expect(performance.now() - promoted).toBeGreaterThan(MAX_LEASE - 1);
      expect(closed).toEqual([]);
      await next.release();
      await lock.release();
    });

    test('which was primary before and comes back without having been told of the marker of the one between', async () => {
      const { primary } = servers;
      const [client] = (await settled(servers.source, 1)) as [InProcessClient];
      await servers.followed(1);
      await servers.promote(replica);
      // Only the replica lacks this grant, which would last for all of maxLease.
      const lock = await client.service.acquire('k', { leaseTime: MAX_LEASE });
      // No strict client sends a command to the replica while that is the primary.
      await servers.follow(primary, replica);
      await servers.promote(primary);
      const promoted = performance.now();
      const other = await strict().start(primary.url);
      const next = await other.service.acquire('k');
      expect(performance.now() - promoted).toBeGreaterThan(MAX_LEASE - 1);
      expect(lock.state).toBe('lost');
      await next.release();
    });

    test('a holder whom it knows goes on, and gives the lock back; the next is served when the wait is over', async () => {
      const [holder, other] = (await settled(servers.source, 2)) as [InProcessClient, InProcessClient];
      const lock = await holder.service.acquire('k');
      await servers.followed(1);
      await servers.primary.kill('SIGKILL');
      await servers.promote(replica);
      servers.lead(replica);
      const promoted = performance.now();
      const { granted } = await inLine(other, 'k');
      // Longer than a lease: it is renewed.
      await pause(TIMES.lease + 100);
      lock.assertHeld();
      await lock.release();
      const next = await within(granted, TIME_LIMIT, 'the turn');
      expect(performance.now() - promoted).toBeGreaterThan(MAX_LEASE - 1);
      await next.release();
      await (await holder.service.acquire('k')).release();
    });

    test('with replicas demanded, an old primary that is cut off confirms nothing more, and its holder is lost first', async () => {
      const demanding = { replicas: { min: 1, timeout: 300 } };
      const [holder] = (await settled(servers.primary.url, 1, demanding)) as [InProcessClient];
      const lock = await holder.service.acquire('k');
      let lostAt = Infinity;
      lock.signal.addEventListener('abort', () => (lostAt = performance.now()));
      // The old primary is alive, and goes on renewing; its replica has left it.
      await servers.promote(replica);
      servers.lead(replica);
      const other = await strict().start(servers.source);
      const next = await other.service.acquire('k');
      expect(performance.now()).toBeGreaterThan(lostAt);
      expect(lock.state).toBe('lost');
      expect(await refusal(holder.service.acquire('other'))).toMatchObject({ code: 'NOT_REPLICATED' });
      await next.release();
    });
  });
});
