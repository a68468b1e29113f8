import { Cluster, Redis } from 'ioredis';
import { LockConfigurationError, LockNotReplicatedError } from '../../lib/core/errors/errors.js';
import type { FairLock } from '../../lib/core/holds/fair-lock.js';
import { RedisLockStore } from '../../lib/stores/redis/redis-lock-store.js';
import { InProcessClients } from '../support/in-process-client.js';
import { uniquePrefix, type RedisServer } from '../support/redis.js';
import { Replicas } from '../support/replicas.js';
import { Stopwatch, timeUntil } from '../support/stopwatch.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { deferred, eventually, pause, within } from '../support/waiting.js';
import { inLine, refusal } from '../support/requests.js';

/** Long against what a busy machine takes away from a process; ms. */
const TIMES = { lease: 10_000, livenessWindow: 6_000, commandTimeout: 2_000 };
const { lease, commandTimeout } = TIMES;
/** How often a holder renews, ms. */
const RENEWAL = lease / 3;
/** `replicas.timeout`, ms: long against a round trip on a busy machine, short against a lease. */
const TIMEOUT = 1_500;
/** The same where no replica is made to stand still: a busy machine may do so by itself. */
const GENEROUS = 5_000;
/** Far beyond all bounds. */
const TIME_LIMIT = 30_000;

describe('replicas: a grant counts only when they have it', () => {
  let servers: Replicas;
  let one: RedisServer;
  let other: RedisServer;
  const opened: InProcessClients[] = [];

  beforeAll(async () => {
    servers = await Replicas.start(2);
    [one, other] = servers.replicas as [RedisServer, RedisServer];
  });
  beforeEach(() => servers.followed(2));
  afterEach(async () => {
    await servers.thaw(one, other);
    await Promise.all(opened.splice(0).map((clients) => clients.close()));
  });
  afterAll(() => servers.close());

  /** Makes clients of one prefix that demand so many replicas. */
  const clientsWith = (min: number, timeout = TIMEOUT): InProcessClients => {
    const clients = new InProcessClients(uniquePrefix(), TIMES, { replicas: { min, timeout } });
    opened.push(clients);
    return clients;
  };

  test('a replica that stands still: a new request fails with a typed error that says how many confirmed, and the lock is free', async () => {
    const client = await clientsWith(2).start(servers.source);
    await servers.freeze(one);
    const error = await refusal(client.service.acquire('k'));
    expect(error).toBeInstanceOf(LockNotReplicatedError);
    expect(error).toMatchObject({
      code: 'NOT_REPLICATED',
      status: 503,
      key: 'k',
      replicas: 1,
      min: 2,
      timeout: TIMEOUT,
    });
    await eventually(async () => !(await client.service.isLocked('k')), TIME_LIMIT, 'the free lock');
    await servers.thaw(one);
    const lock = await client.service.acquire('k');
    expect(lock.state).toBe('held');
    await lock.release();
  });

  test('a grant that came by a message is not entered while a replica stands still; the next in the queue is served when it goes on', async () => {
    const clients = clientsWith(2);
    const [holder, head, behind] = [
      await clients.start(servers.source),
      await clients.start(servers.source),
      await clients.start(servers.source),
    ];
    const lock = await holder.service.acquire('k');
    const second = await inLine(head, 'k');
    const third = await inLine(behind, 'k');
    await servers.freeze(one);
    await lock.release();
    expect(await refusal(second.granted)).toBeInstanceOf(LockNotReplicatedError);
    await servers.thaw(one);
    const next = await within(third.granted, TIME_LIMIT, 'the turn');
    expect(next.token).toBeGreaterThan(lock.token ?? NaN);
    await next.release();
  });

  test('so does a permit: one that is not replicated is refused, and the others are kept', async () => {
    const clients = clientsWith(2);
    const [client, waiter] = [await clients.start(servers.source), await clients.start(servers.source)];
    const permits = { permits: 2 };
    const [first, second] = [
      await client.service.acquire('k', permits),
      await client.service.acquire('k', permits),
    ];
    const third = waiter.service.acquire('k', permits);
    third.catch(() => undefined);
    await servers.freeze(one);
    await first.release();
    expect(await refusal(third)).toBeInstanceOf(LockNotReplicatedError);
    await servers.thaw(one);
    const next = await waiter.service.acquire('k', permits);
    expect(next.state).toBe('held');
    await eventually(() => Promise.resolve(second.state === 'held'), TIME_LIMIT, 'the renewal');
    await Promise.all([second.release(), next.release()]);
  });

  test('of a batch only the first is refused: the others keep their places', async () => {
    const clients = clientsWith(2);
    const [holder, waiter] = [await clients.start(servers.source), await clients.start(servers.source)];
    const lock = await holder.service.acquire('k');
    const [head, ...rest] = [
      await inLine(waiter, 'k'),
      await inLine(waiter, 'k'),
      await inLine(waiter, 'k'),
    ] as const;
    const last = await inLine(holder, 'k');
    await servers.freeze(one);
    await lock.release();
    expect(await refusal(head.granted)).toBeInstanceOf(LockNotReplicatedError);
    await servers.thaw(one);
    const served: number[] = [];
    await Promise.all(
      [...rest, last].map(async ({ granted }, index) => {
        const lock = await within(granted, TIME_LIMIT, 'the turn');
        served.push(index);
        await lock.release();
      }),
    );
    expect(served).toEqual([0, 1, 2]);
  });

  test('renewals that are not replicated: uncertain, and lost before Redis could give the lock to another', async () => {
    const clients = clientsWith(1);
    const holder = await clients.start(servers.source);
    const observer = await clients.start(servers.source);
    const lock = await holder.service.acquire('k');
    const lost = deferred();
    lock.signal.addEventListener('abort', () => lost.resolve());
    await servers.freeze(one, other);
    const frozen = new Stopwatch();
    const uncertain = await timeUntil(() => lock.state === 'uncertain', 'the lease to be uncertain');
    expect(uncertain).toBeLessThan(RENEWAL + TIMEOUT + 1_000);
    lock.assertHeld();
    await within(lost.promise, TIME_LIMIT, 'the loss');
    // The last renewal that was replicated was sent before they stood still.
    expect(frozen.stop()).toBeLessThan(lease);
    const { holder: onServer } = await observer.store.inspect('k');
    expect(onServer).toMatchObject({ token: lock.token });
    expect(onServer?.leaseLeft).toBeGreaterThan(0);
    await lock.release();
  });

  test('a replica that goes on in time: held again', async () => {
    const client = await clientsWith(2).start(servers.source);
    const lock = await client.service.acquire('k');
    await servers.freeze(other);
    const frozen = performance.now();
    const uncertain = await timeUntil(() => lock.state === 'uncertain', 'the lease to be uncertain');
    expect(uncertain).toBeLessThan(RENEWAL + TIMEOUT + 1_000);
    await servers.thaw(other);
    const renewed = await timeUntil(() => lock.state === 'held', 'the renewal');
    expect(renewed).toBeLessThan(RENEWAL + 2 * TIMEOUT + 1_000);
    // Longer than a lease from the last renewal before they stood still.
    await pause(frozen + lease - performance.now());
    lock.assertHeld();
    await lock.release();
  });

  test('one WAIT serves many grants and many renewals', async () => {
    const client = await clientsWith(2, GENEROUS).start(servers.source);
    await servers.resetCounts(servers.primary);
    const many = 300;
    const locks = await Promise.all(Array.from({ length: many }, (_, i) => client.service.acquire(`k${i}`)));
    // Each is renewed at least once.
    await pause(1.2 * RENEWAL);
    for (const lock of locks) expect(lock.state).toBe('held');
    const waits = await servers.calls(servers.primary, 'wait');
    expect(waits).toBeGreaterThan(0);
    expect(waits).toBeLessThan(many / 3);
    await Promise.all(locks.map((lock) => lock.release()));
  });

  test('fewer replicas than demanded are warned of at boot, and nothing is granted', async () => {
    const client = await clientsWith(3).start(servers.source);
    expect(client.warnings).toContainEqual(expect.stringMatching(/^Redis has 2 replicas .* requires 3/));
    expect(await refusal(client.service.acquire('k'))).toMatchObject({ code: 'NOT_REPLICATED', replicas: 2 });
  });

  test('a user who may not WAIT is told at boot, and nothing is granted, until that is mended', async () => {
    const admin = servers.admin(servers.primary);
    await admin.call('ACL', 'SETUSER', 'locker', 'reset', 'on', '>secret', '~*', '&*', '+@all', '-wait');
    const url = servers.primary.url.replace('redis://', 'redis://locker:secret@');
    const client = await clientsWith(1).start(url);
    expect(client.warnings).toContainEqual(expect.stringMatching(/needs the command WAIT, which .*NOPERM/));
    expect(client.warnings.join()).not.toContain('secret');
    const error = await refusal(client.service.acquire('k'));
    expect(error).toBeInstanceOf(LockConfigurationError);
    expect(await client.service.isLocked('k')).toBe(false);
    await admin.call('ACL', 'SETUSER', 'locker', '+wait');
    await admin.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    await eventually(
      async () => {
        const lock = await client.service.acquire('k').catch(() => undefined);
        await lock?.release();
        return lock !== undefined;
      },
      TIME_LIMIT,
      'a grant',
    );
  });

  describe('behind a faulty front', () => {
    let proxy: TcpProxy;
    beforeEach(async () => (proxy = await TcpProxy.start(servers.primary.url)));
    afterEach(() => proxy.close());

    test('a WAIT that a client library sends again on the next connection, where it answers at once, confirms nothing', async () => {
      // What was not answered is sent again after a reconnect, as ioredis does by itself. Any other command in front of
      // it, on the new connection, would make WAIT wait: the checks of ioredis are off.
      const client = await clientsWith(1).start(
        () =>
          new Redis(proxy.url, {
            lazyConnect: true,
            protocol: 2,
            enableReadyCheck: false,
            disableClientInfo: true,
          }),
      );
      await (await client.service.acquire('warm-up')).release();
      await servers.freeze(one, other);
      // After the renewal was answered, so that WAIT comes back alone.
      const cut = proxy.rule({ match: ({ name }) => name === 'wait', reply: 'cut' });
      const again = proxy.rule({ match: ({ name }) => name === 'wait', times: Infinity });
      expect(await refusal(client.service.acquire('k'))).toBeInstanceOf(LockNotReplicatedError);
      expect(cut.hits).toHaveLength(1);
      expect(again.hits.length).toBeGreaterThan(0);
    });

    test.each([
      { what: 'the renewal', name: 'evalsha', reply: 'lost' },
      { what: 'the reply to WAIT', name: 'wait', reply: 'lost' },
      { what: 'the connection after the renewal', name: 'evalsha', reply: 'cut' },
      { what: 'the connection after WAIT', name: 'wait', reply: 'cut' },
    ] as const)('$what is lost: the grant is confirmed anew, or given back', async ({ name, reply }) => {
      const client = await clientsWith(1).start(proxy.url);
      await (await client.service.acquire('warm-up')).release();
      const connections = new Set<number>();
      const heal = proxy.listenTo((command) => {
        if (command.name === 'wait') connections.add(command.connection);
      });
      await (await client.service.acquire('warm-up')).release();
      const rule = proxy.rule({
        match: (command) => command.name === name && connections.has(command.connection),
        reply,
      });
      const outcome: unknown = await within(
        client.service.acquire('k').catch((error: unknown) => error),
        TIME_LIMIT,
        'an outcome',
      );
      expect(rule.hits).toHaveLength(1);
      heal();
      if (outcome instanceof Error) {
        expect(outcome).toMatchObject({ code: 'NOT_REPLICATED', replicas: undefined });
        await eventually(async () => !(await client.service.isLocked('k')), TIME_LIMIT, 'the free lock');
      } else {
        expect((outcome as FairLock).state).toBe('held');
        await (outcome as FairLock).release();
      }
      await (await client.service.acquire('k')).release();
    });

    test('the whole connection is silent: typed error in time, and the lock is free', async () => {
      const client = await clientsWith(1).start(proxy.url);
      await (await client.service.acquire('warm-up')).release();
      const silent = proxy.rule({ match: ({ name }) => name === 'wait', times: Infinity, reply: 'lost' });
      const asked = new Stopwatch();
      expect(await refusal(client.service.acquire('k'))).toMatchObject({
        code: 'NOT_REPLICATED',
        replicas: undefined,
      });
      // The attempt that is under way when the limit ends it is awaited: twice timeout and commandTimeout, and a reconnect.
      expect(asked.stop()).toBeLessThan(2 * (TIMEOUT + commandTimeout) + 1_000);
      silent.remove();
      await eventually(async () => !(await client.service.isLocked('k')), TIME_LIMIT, 'the free lock');
    });
  });

  test('a Cluster is refused, since its client does not say which node a WAIT goes to', () => {
    const cluster = new Cluster([{ host: '127.0.0.1', port: servers.primary.port }], { lazyConnect: true });
    const open = (): unknown =>
      new RedisLockStore({
        redis: cluster,
        keyPrefix: uniquePrefix(),
        ...TIMES,
        replicas: { min: 1, timeout: TIMEOUT },
        onWarning: () => undefined,
      });
    expect(open).toThrow(LockConfigurationError);
    expect(open).toThrow(/replicas does not work on a Redis Cluster/);
  });

  test('a request that gives up while its grant is being confirmed does not get it, and the lock moves on', async () => {
    const client = await clientsWith(2).start(servers.source);
    await servers.freeze(one);
    const leaving = new AbortController();
    const request = client.service.acquire('k', { signal: leaving.signal });
    await eventually(async () => client.service.isLocked('k'), TIME_LIMIT, 'the grant on the server');
    leaving.abort();
    expect(await refusal(request)).toMatchObject({ code: 'ABORTED' });
    await servers.thaw(one);
    const lock = await within(client.service.acquire('k'), TIME_LIMIT, 'the lock');
    await lock.release();
  });

  // The last: its servers are others afterwards.
  test('after a failover the replica that confirmed still knows the holder, who goes on there', async () => {
    const clients = clientsWith(1, GENEROUS);
    const [holder, observer] = [await clients.start(servers.source), await clients.start(servers.source)];
    await servers.freeze(other);
    const lock = await holder.service.acquire('k');
    // Its old primary is gone for good; the other replica follows the new one.
    await servers.primary.kill('SIGKILL');
    await servers.promote(one);
    await servers.thaw(other);
    await servers.admin(other).replicaof('127.0.0.1', one.port);
    servers.lead(one);
    await eventually(
      async () => (await observer.store.inspect('k').catch(() => undefined))?.holder?.token === lock.token,
      TIME_LIMIT,
      'the holder on the new primary',
    );
    await servers.followed(1);
    // Longer than a lease: without renewals there it would be lost.
    await pause(lease);
    expect(lock.state).toBe('held');
    expect(await observer.service.tryAcquire('k')).toBeUndefined();
    await lock.release();
    const next = await observer.service.acquire('k');
    expect(next.token).toBeGreaterThan(lock.token ?? NaN);
    await next.release();
  });
});
