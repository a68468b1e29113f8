import { Redis } from 'ioredis';
import { InProcessClients, type InProcessClient } from '../support/in-process-client.js';
import { Lab } from '../support/history/lab.js';
import { redisUrl, uniquePrefix } from '../support/redis.js';
import { waiting } from '../support/requests.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { deferred, eventually, SOON } from '../support/waiting.js';

/** With these no heartbeat is due while commands are counted. */
const TIMES = { lease: 30_000, livenessWindow: 15_000, commandTimeout: 2_000 };

describe('query over all processes', () => {
  const prefix = uniquePrefix();
  const clients = new InProcessClients(prefix, TIMES);
  const redis = new Redis(redisUrl());
  let one: InProcessClient;
  let two: InProcessClient;
  beforeEach(async () => {
    [one, two] = await Promise.all([clients.start(redisUrl()), clients.start(redisUrl())]);
  });
  afterEach(() => clients.close());
  afterAll(() => redis.quit());

  test('shows holder and waiters of every process, with labels, and the same from each', async () => {
    const lock = await one.service.acquire('order:1', { label: 'Orders.pay' });
    const waits = [];
    for (const [i, { service }] of [two, one, two].entries()) {
      waits.push(service.withLock('order:1', () => undefined, { label: `Orders.ship${i}` }));
      await waiting(one.store, 'order:1', i + 1);
    }
    for (const { service } of [one, two]) {
      const overview = await service.query({ timeout: SOON });
      expect(overview).toMatchObject({ silent: [], problems: [] });
      expect(overview.processes).toHaveLength(2);
      expect(overview.locks).toMatchObject([
        {
          key: 'order:1',
          orphan: false,
          holder: { label: 'Orders.pay', token: lock.token, state: 'held', pid: process.pid },
        },
      ]);
      // Each process tells for how long its calls have waited when it answers: those of two processes may change places.
      const { waiters } = overview.locks[0]!;
      expect(waiters.map(({ ahead }) => ahead)).toEqual([0, 1, 2]);
      expect(waiters.map(({ label, clientId }) => ({ label, clientId }))).toEqual(
        expect.arrayContaining([
          { label: 'Orders.ship0', clientId: two.store.peers.self.clientId },
          { label: 'Orders.ship1', clientId: one.store.peers.self.clientId },
          { label: 'Orders.ship2', clientId: two.store.peers.self.clientId },
        ]),
      );
    }
    await lock.release();
    await Promise.all(waits);
  });

  test('names a process that stands still as silent, and who it is if it holds what others wait for', async () => {
    const lab = new Lab(redisUrl());
    const watchers = new InProcessClients(lab.prefix);
    try {
      const [worker] = await lab.workersAlike(1);
      const watcher = await watchers.start(redisUrl());
      const ask = worker.ask('k');
      await ask.granted();
      const waits = watcher.service.withLock('k', () => undefined);
      await waiting(watcher.store, 'k', 1);
      process.kill(worker.pid, 'SIGSTOP');
      const overview = await watcher.service.query();
      process.kill(worker.pid, 'SIGCONT');
      expect(overview.silent).toMatchObject([{ pid: worker.pid }]);
      expect(overview.locks).toMatchObject([{ key: 'k', holder: { pid: worker.pid }, orphan: false }]);
      await ask.release();
      await waits;
    } finally {
      await watchers.close();
      await lab.close();
    }
  });

  test('shows locks of processes that are gone, only if asked for orphans', async () => {
    const hash = `${prefix}:{lost%7b1%7d}`;
    const lock = await one.service.acquire('lost{1}', { label: 'Orders.pay' });
    const [kept, ttl] = await Promise.all([redis.dumpBuffer(hash), redis.pttl(hash)]);
    await lock.release();
    await one.close();
    await redis.restore(hash, ttl, kept, 'REPLACE');

    expect((await two.service.query({ timeout: SOON })).locks).toEqual([]);
    const { locks, problems } = await two.service.query({ orphans: true, timeout: SOON });
    expect(problems).toEqual([]);
    expect(locks).toMatchObject([
      { key: 'lost{1}', orphan: true, holder: { label: 'Orders.pay', pid: process.pid, token: lock.token } },
    ]);
    expect(await two.service.forceRelease('lost{1}', { token: lock.token })).toBe(true);
  });

  test('costs no command while it is not called: a section is still two', async () => {
    const proxy = await TcpProxy.start(redisUrl());
    const here = await clients.start(proxy.url);
    // The first section loads the scripts.
    await here.service.withLock('quiet', () => undefined);
    const sent: string[] = [];
    const stop = proxy.listenTo(({ name }) => sent.push(name));
    await here.service.withLock('quiet', () => undefined);
    expect(sent).toEqual(['evalsha', 'evalsha']);
    await here.service.query({ timeout: SOON });
    expect(sent.slice(2)).toEqual(['publish']);
    stop();
    await here.close();
    await proxy.close();
  });

  test('tells in a problem of an answer that it cannot read, and ignores what it does not know', async () => {
    const stranger = new Redis(redisUrl());
    const channel = `${prefix}:client:`;
    const answers = ['not json', '{"clientId":"stranger"}', NEWER];
    stranger.on('message', (_: string, text: string) => {
      const [, nonce, asker] = text.split(' ');
      if (text.startsWith('Q '))
        void redis.publish(`${channel}${asker}`, `A ${nonce} stranger ${answers[0]}`);
    });
    await stranger.subscribe(`${channel}stranger`, `${channel}db0`);
    for (const bad of [1, 2]) {
      const { problems, silent, processes } = await one.service.query({ timeout: SOON });
      expect(problems).toEqual([expect.stringMatching(/response of the client stranger cannot be read/)]);
      expect([silent, processes.length, bad]).toEqual([[], 2, bad]);
      answers.shift();
    }
    const { problems, locks, processes } = await one.service.query({ timeout: SOON });
    expect(problems).toEqual([]);
    expect(processes.find(({ clientId }) => clientId === 'stranger')?.holds).toEqual([
      { key: 'k', heldFor: 1, token: 7, state: 'held' },
    ]);
    expect(locks).toEqual([]); // Redis has none
    for (const text of ['Q', 'Q x', 'Q a b {', 'Q a b []', 'Q a b {"key":1}', 'A', 'A a b x', 'Z news']) {
      await redis.publish(`${channel}${one.store.peers.self.clientId}`, text);
    }
    await one.service.withLock('still works', () => undefined);
    await stranger.quit();
  });

  test('reports the oldest 1,000 of 2,000 waits of a process, and says that it left out others', async () => {
    const lock = await one.service.acquire('long');
    const gone = new AbortController();
    const waits = Array.from({ length: 2_000 }, () => one.service.acquire('long', { signal: gone.signal }));
    const ended = Promise.allSettled(waits);
    await waiting(one.store, 'long', 2_000);
    const { processes, locks } = await two.service.query({ timeout: SOON });
    expect(processes.find(({ truncated }) => truncated)?.waits).toHaveLength(1_000);
    expect(locks[0]!.waiters).toHaveLength(1_000);
    gone.abort();
    await ended;
    await lock.release();
  });
});

const NEWER = JSON.stringify({
  clientId: 'stranger',
  host: 'h',
  pid: 1,
  version: '9.9.9',
  mood: 'fine',
  holds: [{ key: 'k', heldFor: 1, token: 7, state: 'shared', readers: 3 }],
  waits: [],
});

describe('inspect and forceRelease over processes', () => {
  const clients = new InProcessClients(uniquePrefix());
  afterEach(() => clients.close());

  test('a turn that was handed on inside a process is shown, and spared by a token of before, as soon as a heartbeat has told it', async () => {
    const [one, two] = await Promise.all([clients.start(redisUrl()), clients.start(redisUrl())]);
    const busy = await two.service.acquire('k');
    const places = [deferred(), deferred(), deferred()];
    const waits = places.map(({ resolve }) => one.service.acquire('k', { onQueued: () => resolve() }));
    await Promise.all(places.map(({ promise }) => promise));
    await busy.release();
    const first = await waits[0]!;
    void first.release();
    const second = await waits[1]!;
    const shown = async (): Promise<boolean> =>
      (await two.service.inspect('k')).holder?.token === second.token;
    await eventually(shown, SOON, 'the present turn');
    expect((await two.service.inspect('k')).queueLength).toBe(1);
    await expect(two.service.forceRelease('k', { token: first.token! })).rejects.toMatchObject({
      code: 'HOLDER_CHANGED',
      presentToken: second.token,
    });
    expect(second.state).toBe('held');
    await second.release();
    await (await waits[2]!).release();
  });

  test('inspect asks no other process: it names the holder by what Redis knows', async () => {
    const proxy = await TcpProxy.start(redisUrl());
    const [here, holder] = [await clients.start(proxy.url), await clients.start(redisUrl())];
    const lock = await holder.service.acquire('k', { label: 'Still.hold' });
    const sent: string[] = [];
    proxy.listenTo(({ name }) => sent.push(name));
    expect((await here.service.inspect('k')).holder?.who).toMatch(/Still\.hold$/);
    expect(sent).not.toContain('publish');
    await lock.release();
    await here.close();
    await proxy.close();
  });
});
