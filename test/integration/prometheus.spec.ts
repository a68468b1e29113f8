import { createServer } from 'node:http';
import { Test } from '@nestjs/testing';
import { AggregatorRegistry, register, Registry, type OpenMetricsContentType } from 'prom-client';
import { LockConfigurationError } from 'nestjs-fair-lock';
import { collectPrometheusMetrics, FairLockPrometheusModule } from 'nestjs-fair-lock/prometheus';
import { InProcessClients, type InProcessClient } from '../support/in-process-client.js';
import { redisUrl, uniquePrefix } from '../support/redis.js';
import { waiting } from '../support/requests.js';
import { bench } from '../unit/core/support.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { eventually, SOON } from '../support/waiting.js';

const group = 'order:<0.id>';

describe('the metrics of nestjs-fair-lock/prometheus', () => {
  const registry = new Registry();
  const clients = new InProcessClients(uniquePrefix(), {
    lease: 3_000,
    livenessWindow: 3_000,
    commandTimeout: 1_000,
  });
  let proxy: TcpProxy;
  let one: InProcessClient;
  let two: InProcessClient;
  let end: () => void;
  beforeAll(async () => {
    proxy = await TcpProxy.start(redisUrl());
    end = collectPrometheusMetrics({ registry });
    [one, two] = await Promise.all([clients.start(redisUrl()), clients.start(proxy.url)]);
  });
  afterAll(async () => {
    await clients.close();
    await proxy.close();
    end();
    expect(await registry.metrics()).toBe('\n');
  });

  /** The values of a real scrape, by series. */
  const scrape = async (): Promise<Map<string, number>> => {
    const server = createServer((_, response) => void registry.metrics().then((text) => response.end(text)));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as { port: number };
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    server.close();
    const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    return new Map(
      lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.split(' ').at(-1))]),
    );
  };

  test('show what waits and holds now, and zeros when all has ended, also after a failure of Redis', async () => {
    const lock = await two.service.acquire('g', { group });
    const next = two.service.acquire('g', { group });
    await waiting(one.store, 'g', 1);
    const during = await scrape();
    expect(during.get(`fairlock_waiting{lock="${group}"}`)).toBe(1);
    expect(during.get(`fairlock_held{lock="${group}"}`)).toBe(1);
    expect(during.get(`fairlock_oldest_wait_seconds{lock="${group}"}`)).toBeGreaterThan(0);

    const heal = proxy.acceptAndClose();
    proxy.cut();
    await expect(two.service.acquire('away', { group, waitTime: 5_000 })).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
    });
    await eventually(() => lock.state === 'lost', SOON, 'the loss');
    await lock.release();
    heal();
    await (await next).release();
    const after = await scrape();
    for (const name of ['waiting', 'held', 'oldest_wait_seconds']) {
      expect([name, after.get(`fairlock_${name}{lock="${group}"}`)]).toEqual([name, 0]);
    }
  });

  test('of several workers are added up, but of their oldest waits the longest is shown', async () => {
    const lock = await two.service.acquire('workers', { group: 'workers' });
    const next = two.service.acquire('workers', { group: 'workers' });
    await waiting(one.store, 'workers', 1);
    const worker = await registry.getMetricsAsJSON();
    await lock.release();
    await (await next).release();
    const all = await AggregatorRegistry.aggregate([worker, worker]).getMetricsAsJSON();
    const valueOf = (metrics: typeof all, name: string): number | undefined =>
      metrics
        .find((metric) => metric.name === name)
        ?.values.find(({ labels }) => labels['lock'] === 'workers')?.value;
    expect(valueOf(all, 'fairlock_waiting')).toBe(2);
    const oldest = valueOf(worker, 'fairlock_oldest_wait_seconds');
    expect(oldest).toBeGreaterThan(0);
    expect(valueOf(all, 'fairlock_oldest_wait_seconds')).toBe(oldest);
  });

  test('count losses from 0 on, so increase() of Prometheus sees the first one', async () => {
    const losses = async (group: string): Promise<number | undefined> =>
      (await scrape()).get(`fairlock_lost_total{lock="${group}"}`);
    expect(await losses('other')).toBe(0);
    const { engine, service, store } = bench();
    const lock = await service.acquire('k', { group: 'never lost before' });
    expect(await losses('never lost before')).toBe(0);
    store.lose('k');
    expect(await losses('never lost before')).toBe(1);
    await lock.release();
    await engine.close();
  });

  test('are refused a second time in one registry, by an error that says what to do, and stay as they are', async () => {
    const before = await registry.metrics();
    let error: unknown;
    try {
      collectPrometheusMetrics({ registry });
    } catch (reason) {
      error = reason;
    }
    expect(error).toBeInstanceOf(LockConfigurationError);
    expect((error as LockConfigurationError).details).toMatch(/once.*\{ registry: new Registry\(\) \}/s);
    expect(await registry.metrics()).toBe(before);
    collectPrometheusMetrics({ registry: new Registry() })();
    const twice = [{}, { buckets: [1] }].map((options) => FairLockPrometheusModule.forRoot(options));
    const creating = Test.createTestingModule({ imports: twice }).compile();
    await expect(creating).rejects.toBeInstanceOf(LockConfigurationError);
    register.clear();
  });

  test('pass from an application that failed to boot to the next one', async () => {
    const own = new Registry();
    const imports = [FairLockPrometheusModule.forRoot({ registry: own })];
    const failing = { provide: 'failing', useFactory: () => Promise.reject(new Error('no database')) };
    const boot = Test.createTestingModule({ imports, providers: [failing] }).compile();
    await expect(boot).rejects.toThrow('no database');

    const next = await Test.createTestingModule({ imports }).compile();
    await next.init();
    const { engine, service } = bench();
    await service.withLock('k', () => undefined, { group: 'counted once' });
    expect(await own.metrics()).toContain(
      'fairlock_hold_duration_seconds_count{lock="counted once",outcome="released"} 1',
    );
    const third = Test.createTestingModule({ imports }).compile();
    await expect(third).rejects.toBeInstanceOf(LockConfigurationError);
    await engine.close();
    await next.close();
    expect(own.getMetricsAsArray()).toHaveLength(0);
  });

  test('are not removed by the end of a collection whose own ones were cleared away', async () => {
    const cleared = new Registry();
    const endFirst = collectPrometheusMetrics({ registry: cleared });
    cleared.clear();
    const endSecond = collectPrometheusMetrics({ registry: cleared });
    endFirst();
    expect(cleared.getMetricsAsArray()).toHaveLength(9);
    endSecond();
    expect(cleared.getMetricsAsArray()).toHaveLength(0);
  });

  test('go to a registry of OpenMetrics, too', async () => {
    const own = new Registry<OpenMetricsContentType>();
    own.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
    const end = collectPrometheusMetrics({ registry: own });
    expect(await own.metrics()).toMatch(/^# TYPE fairlock_lost counter$/m);
    end();
  });

  test('have at most 500 names for groups that are made of data', async () => {
    const { engine, service } = bench();
    for (let i = 0; i < 600; i += 1) await service.withLock('k', () => undefined, { group: `made of ${i}` });
    const names = [...(await scrape()).keys()].filter((series) => series.startsWith('fairlock_held{'));
    expect(names).toHaveLength(500);
    await engine.close();
  });
});
