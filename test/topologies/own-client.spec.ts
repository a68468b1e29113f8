import { readFileSync } from 'node:fs';
import { Redis, type Cluster, type ClusterOptions, type RedisOptions } from 'ioredis';
import type { FairLockError } from '../../lib/core/errors/fair-lock-error.js';
import type { RedisSource } from '../../lib/stores/redis-client/connection/redis-source.js';
import { ask, inLine } from '../integration/redisson-scene.js';
import { RedisCluster } from '../support/cluster.js';
import { InProcessClients } from '../support/in-process-client.js';
import { startStore } from '../support/redisson.js';
import { OwnServer } from '../support/own-server.js';
import { clientChannels, uniquePrefix } from '../support/redis.js';
import { waiting } from '../support/requests.js';
import { SentinelSetup } from '../support/sentinel.js';
import { eventually, pause, SOON } from '../support/waiting.js';
import { documentedAcl } from './documented-acl.js';

/** With these the heartbeats come 5 s apart. */
const TIMES = { lease: 30_000, livenessWindow: 15_000, commandTimeout: 2_000 };

let clients: InProcessClients;
beforeEach(() => {
  clients = new InProcessClients(uniquePrefix(), TIMES);
});
afterEach(() => clients.close());

/** Two clients of the lock on `source`: one waits for the other, and is woken by a message, not by a heartbeat. */
async function works(source: RedisSource): Promise<void> {
  const [one, other] = [await clients.start(source), await clients.start(source)];
  const first = await one.service.acquire('k', {});
  const second = other.service.acquire('k', {});
  await waiting(one.store, 'k', 1);
  const from = performance.now();
  await first.release();
  const lock = await second;
  expect(performance.now() - from).toBeLessThan(clients.times.livenessWindow / 3);
  expect(lock.token).toBeGreaterThan(first.token ?? NaN);
  await lock.release();
  await clients.close();
}

/** What of a client the lock could have touched. */
function stateOf(client: Redis | Cluster): unknown {
  const listeners = client.eventNames().map((name) => `${String(name)} ${client.listenerCount(name)}`);
  return { status: client.status, options: { ...client.options }, listeners: listeners.sort() };
}

function redis(options: RedisOptions): Redis {
  const client = new Redis(options as RedisOptions & { replyMapping: 'legacy' });
  return client.on('error', () => undefined);
}

describe("the user's own client", () => {
  const own = new OwnServer();

  const odd: [string, RedisOptions][] = [
    ['with autopipelining', { enableAutoPipelining: true }],
    ['without an offline queue', { enableOfflineQueue: false }],
    ['that retries for ever', { maxRetriesPerRequest: null, retryStrategy: () => 1 }],
    ['that never retries', { maxRetriesPerRequest: 0, retryStrategy: () => null }],
    ['with limits of its own', { commandTimeout: 1, socketTimeout: 1, lazyConnect: true }],
    ['with a key prefix', { keyPrefix: 'shop:' }],
    ['that reads numbers as text', { stringNumbers: true }],
    ['that subscribes once and checks nothing', { autoResubscribe: false, enableReadyCheck: false }],
    ['that reconnects on any error and repeats', { reconnectOnError: () => 2 }],
    ['that is meant for replicas', { readOnly: true, role: 'slave' }],
    ['that is not connected', { lazyConnect: true }],
    ['that monitors', { monitor: true }],
  ];
  test.each(odd)('%s: the lock works, and the client is what it was', async (_, options) => {
    const users = redis({ host: '127.0.0.1', port: own.server.port, ...options });
    const begun = options.monitor ? 'monitoring' : options.lazyConnect ? 'wait' : 'ready';
    await eventually(() => users.status === begun, SOON, 'the client to be as it shall be');
    const before = stateOf(users);
    await works(users);
    expect(stateOf(users)).toEqual(before);
    users.disconnect();
  });

  test('that listens to channels, or is in the middle of a blocking command: the lock does not wait for it', async () => {
    const [listening, blocked] = [new Redis(own.url), new Redis(own.url)];
    await listening.subscribe('news');
    const popped = blocked.blpop('nothing', 0).catch(() => undefined);
    await works(listening);
    await works(blocked);
    expect([listening.status, blocked.status]).toEqual(['ready', 'ready']);
    for (const client of [listening, blocked]) client.disconnect();
    await popped;
  });

  test('that has quit: the lock makes its own connections from it all the same', async () => {
    const users = new Redis(own.url);
    await users.quit();
    await works(users);
    expect(users.status).toBe('end');
  });

  test("from a function of the role: one for each, the lock's from then on", async () => {
    const made: Redis[] = [];
    const roles = new Set<string>();
    await works((role) => {
      roles.add(role);
      const client = new Redis(own.url, { enableAutoPipelining: true });
      made.push(client);
      return client;
    });
    expect([...roles].sort()).toEqual(['commands', 'subscriber']);
    expect(made.map(({ status }) => status)).toEqual(made.map(() => 'end'));
  });

  // jest fails a test of which a promise is rejected that nothing handles, as ioredis leaves that of its own SUBSCRIBE.
  test('from a function of the role, whose right to listen is taken away: the process goes on, and listens when it is back', async () => {
    const { admin } = own;
    await admin.call('ACL', 'SETUSER', 'lock', 'on', '>secret', '~*', '&*', '+@all');
    const { store } = await clients.start(() => new Redis(own.urlOf('lock')));
    const listens = async (): Promise<boolean> => (await store.health()).listening;
    await eventually(listens, SOON, 'the lock to listen');
    await admin.call('ACL', 'SETUSER', 'lock', 'resetchannels');
    await admin.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
    const refused = async (): Promise<boolean> =>
      /cmdstat_subscribe:.*rejected_calls=[1-9]/.test(await admin.info('commandstats'));
    await eventually(refused, SOON, 'Redis to refuse the subscription');
    await admin.call('ACL', 'SETUSER', 'lock', 'allchannels');
    await eventually(listens, SOON, 'the lock to listen again');
  });
});

describe("the user's own client of sentinels", () => {
  let setup: SentinelSetup;
  beforeAll(async () => {
    setup = await SentinelSetup.start(1);
  });
  afterAll(() => setup.stop());

  test('as options, or as a client that reads from replicas: the lock goes to the primary', async () => {
    await works(setup.options);
    const reader = redis({ ...setup.options, role: 'slave' });
    await eventually(() => reader.status === 'ready', SOON, 'the client to connect');
    await works(reader);
    expect(reader.status).toBe('ready');
    reader.disconnect();
  });

  test.each([true, false])(
    'from a function, with failoverDetector: %s: each connection listens to each sentinel once',
    async (failoverDetector) => {
      const listening = async (): Promise<number> =>
        (await setup.tellSentinels('CLIENT', 'LIST')).join().split(' sub=1 ').length - 1;
      // A sentinel may take a moment to see that the connections of the test before have ended.
      await eventually(async () => (await listening()) === 0, SOON, 'no client to listen');
      const client = await clients.start(() => redis({ ...setup.options, failoverDetector }));
      const connections = 2 * setup.sentinels.length;
      await eventually(async () => (await listening()) === connections, SOON, 'all to listen');
      // A busy server may make the lock say that Redis did not respond for a moment.
      expect(client.warnings.filter((warning) => warning.includes('sentinel'))).toEqual([]);
    },
  );

  test('the address of a sentinel in place of that of Redis: the error says what to give', async () => {
    const [sentinel] = setup.options.sentinels;
    const { service } = await clients.start({ ...sentinel });
    await expect(service.acquire('k', {})).rejects.toMatchObject({
      details: expect.stringContaining('a Sentinel (give `sentinels` and `name` instead)') as string,
    });
  });

  test('after a failover by order, its subscription is with the new primary again', async () => {
    const client = await clients.start(() => redis(setup.options));
    const former = await setup.primary();
    await setup.failover();
    const now = await setup.promoted(former);
    const there = async (): Promise<boolean> => (await clientChannels(now.admin, '*:client:*')).length === 1;
    await eventually(there, 15_000, 'the subscription to follow');
    const lock = await client.service.acquire('k', {});
    await lock.release();
  });
});

describe("the user's own client of a Cluster", () => {
  let cluster: RedisCluster;
  beforeAll(async () => {
    cluster = await RedisCluster.start(3, 0);
  });
  afterAll(() => cluster.stop());

  const odd: [string, ClusterOptions][] = [
    ['with autopipelining', { enableAutoPipelining: true }],
    ['that follows no redirection and repeats nothing', { maxRedirections: 1, retryDelayOnFailover: 0 }],
    [
      'that repeats what it likes',
      { retryDelayOnFailover: 1, retryDelayOnClusterDown: 1, scaleReads: 'all' },
    ],
    ['with a key prefix', { keyPrefix: 'shop:' }],
    ['with a key prefix for its nodes', { redisOptions: { keyPrefix: 'shop:', stringNumbers: true } }],
    ['that listens to sharded channels', { shardedSubscribers: true }],
    ['that is not connected', { lazyConnect: true }],
  ];
  test.each(odd)('%s: the lock works, and the client is what it was', async (_, options) => {
    const users = cluster.client({ lazyConnect: false, ...options });
    const begun = options.lazyConnect ? 'wait' : 'ready';
    await eventually(() => users.status === begun, SOON, 'the client to be as it shall be');
    const before = stateOf(users);
    await works(users);
    expect(stateOf(users)).toEqual(before);
    users.disconnect();
  });

  test("from a function of the role: the lock's from then on", async () => {
    const made: Cluster[] = [];
    await works(() => {
      const client = cluster.client({ redisOptions: { keyPrefix: 'shop:' } });
      made.push(client);
      return client;
    });
    // ioredis calls a Cluster client closed once more when the last of its nodes has ended.
    for (const { status } of made) expect(['close', 'end']).toContain(status);
  });

  test('from a function, with autopipelining, is led on to the node that serves a slot now', async () => {
    const { service } = await clients.start(() => cluster.client({ enableAutoPipelining: true }));
    const node = await cluster.masterOf('{a}');
    const names = ['a'];
    for (let i = 0; names.length < 2; i += 1) {
      if ((await cluster.masterOf(`{b${i}}`)) === node) names.push(`b${i}`);
    }
    const ask = (): Promise<boolean[]> =>
      Promise.all(names.map((name) => service.withLock(name, () => true)));
    await ask();
    await cluster.move('{a}', await cluster.otherMaster(node));
    // One pipeline: ioredis does not follow the redirection of a part of it.
    expect(await ask()).toEqual([true, true]);
  });

  test('a client of one node is told that it takes a Cluster client', async () => {
    const { service } = await clients.start(cluster.nodes[0]!.server.url);
    const keys = Array.from({ length: 20 }, (_, i) => `k${i}`); // some of them are of other nodes
    const asked = keys.map((key) => service.acquire(key, {}).then((lock) => lock.release()));
    const refused = (await Promise.allSettled(asked)).filter(({ status }) => status === 'rejected');
    expect(refused.length).toBeGreaterThan(0);
    const sentence = /is a node of a Redis Cluster.*set the option `redis` to a `Cluster` of ioredis/;
    for (const { reason } of refused as PromiseRejectedResult[])
      expect((reason as FairLockError).details).toMatch(sentence);
  });

  test('as a user with the rights that the documentation gives: none is denied, also while a slot moves', async () => {
    const { user, onCluster } = documentedAcl();
    for (const { admin } of cluster.nodes) {
      await admin.call('ACL', ...user);
      await admin.call('ACL', ...onCluster);
    }
    clients = new InProcessClients('fairlock', TIMES);
    const users = cluster.client({ redisOptions: { username: 'lock', password: 'secret' } });
    await works(users);
    const { service } = await clients.start(users);
    const lock = await service.acquire('k', {});
    const target = await cluster.otherMaster(await cluster.masterOf('fairlock:{k}'));
    await cluster.beginMove('fairlock:{k}', target);
    while ((await cluster.moveKeys('fairlock:{k}', target)) > 0);
    await pause(clients.times.livenessWindow / 2); // renewals are led to the other node by ASK
    lock.assertHeld();
    await cluster.endMove('fairlock:{k}', target);
    await lock.release();
    for (const { admin } of cluster.nodes) expect(await admin.call('ACL', 'LOG')).toEqual([]);
  });

  test('as a user with the rights that the documentation gives for the redisson store: none is denied, also while a slot moves', async () => {
    const page = readFileSync(new URL('../../docs/redisson.md', import.meta.url), 'utf8');
    const [rule = ''] = /(?<=ACL SETUSER clerk on >…)[^`]*/.exec(page) ?? [];
    const [onCluster = ''] = /(?<=On Redis Cluster also `)[^`]*/.exec(page) ?? [];
    const rights = `${rule} ${onCluster}`.trim().split(/\s+/);
    expect(rights).toContain('+spublish');
    for (const { admin } of cluster.nodes) {
      await admin.call('ACL', 'LOG', 'RESET');
      await admin.call('ACL', 'SETUSER', 'clerk', 'reset', 'on', '>secret', '~lock', ...rights);
    }
    const users = cluster.client({ redisOptions: { username: 'clerk', password: 'secret' } });
    const lockWatchdogTimeout = 2_000;
    const [one, other] = await Promise.all(
      [users, users].map((redis) => startStore({ redis, lockWatchdogTimeout })),
    );
    const holder = await ask(one!).granted();
    const next = await inLine(other!);
    const target = await cluster.otherMaster(await cluster.masterOf('lock'));
    await cluster.beginMove('lock', target);
    while ((await cluster.moveKeys('lock', target)) > 0);
    await pause(lockWatchdogTimeout); // renewals are led to the other node by ASK
    expect(holder.lease.state).toBe('held');
    await cluster.endMove('lock', target);
    await holder.release();
    await (await next.granted()).release();
    await Promise.all([one!.close(), other!.close()]);
    for (const { admin } of cluster.nodes) expect(await admin.call('ACL', 'LOG')).toEqual([]);
  });

  test('where ASKING is refused while a slot moves, no rejection is left that would end the process', async () => {
    const { user, onCluster } = documentedAcl();
    for (const { admin } of cluster.nodes) {
      await admin.call('ACL', ...user);
      await admin.call('ACL', ...onCluster);
      await admin.call('ACL', 'SETUSER', 'lock', '-asking');
    }
    clients = new InProcessClients('fairlock', TIMES);
    const users = cluster.client({ redisOptions: { username: 'lock', password: 'secret' } });
    const { service } = await clients.start(users);
    const lock = await service.acquire('k', {});
    const target = await cluster.otherMaster(await cluster.masterOf('fairlock:{k}'));
    await cluster.beginMove('fairlock:{k}', target);
    while ((await cluster.moveKeys('fairlock:{k}', target)) > 0);
    await expect(service.acquire('k', { waitTime: 0 })).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    await cluster.endMove('fairlock:{k}', target);
    await lock.release();
    await (await service.acquire('k', {})).release();
  });

  test('several keys in several slots are locked in one order by all, so that no request waits for ever', async () => {
    const names = ['a', 'b', 'c', 'd'];
    const slots = new Set(await Promise.all(names.map((name) => cluster.slotOf(`x:{${name}}`))));
    expect(slots.size).toBe(names.length);
    const one = await clients.start(cluster.client());
    const other = await clients.start(cluster.client());
    let inside = 0;
    const round = ({ service }: typeof one, keys: string[]): Promise<void> =>
      service.withLock(keys, async (lock) => {
        expect((inside += 1)).toBe(1);
        await new Promise(setImmediate);
        lock.assertHeld();
        inside -= 1;
      });
    const work: Promise<void>[] = [];
    for (let i = 0; i < 40; i += 1) work.push(round(one, names), round(other, [...names].reverse()));
    await Promise.all(work);
  });
});
