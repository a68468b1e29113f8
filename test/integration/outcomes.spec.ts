import { channel } from 'node:diagnostics_channel';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import { Redis } from 'ioredis';
import { Registry } from 'prom-client';
import { instrumentFairLock } from 'nestjs-fair-lock/otel';
import { collectPrometheusMetrics } from 'nestjs-fair-lock/prometheus';
import type { HoldOutcome, LockEvent, WaitOutcome } from '../../lib/core/diagnostics/diagnostics.js';
import { InProcessClients, type InProcessClient } from '../support/in-process-client.js';
import { startStore } from '../support/redisson.js';
import { redisUrl, uniquePrefix } from '../support/redis.js';
import { waiting } from '../support/requests.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { eventually, SOON } from '../support/waiting.js';
import { ask } from '../support/ask.js';

const group = 'order:<0.id>';
const TIMES = { lease: 3_000, livenessWindow: 3_000, commandTimeout: 1_000 };

/**
 * Everything that the metrics count, each made to happen on a real Redis and read from both exporters. The tables are records over the
 * types, so a new outcome or event without a case here does not compile.
 */
describe('what the metrics count', () => {
  const registry = new Registry();
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 });
  const meterProvider = new MeterProvider({ readers: [reader] });
  const clients = new InProcessClients(uniquePrefix(), TIMES);
  const events: LockEvent[] = [];
  const onEvent = (event: unknown): void => void events.push(event as LockEvent);
  let proxy: TcpProxy;
  let one: InProcessClient;
  /** Its connections go through the proxy. */
  let two: InProcessClient;
  let ends: (() => void)[];
  beforeAll(async () => {
    ends = [collectPrometheusMetrics({ registry }), instrumentFairLock({ spans: false, meterProvider })];
    channel('fairlock:event').subscribe(onEvent);
    proxy = await TcpProxy.start(redisUrl());
    one = await clients.start(redisUrl(), { slowWait: 20, slowHold: 40 });
    two = await clients.start(proxy.url);
  });
  afterAll(async () => {
    await clients.close();
    await proxy.close();
    channel('fairlock:event').unsubscribe(onEvent);
    for (const end of ends) end();
    await meterProvider.shutdown();
  });

  /** Cuts the second client off while `code` runs. */
  const withoutRedis = async (code: () => Promise<unknown>): Promise<void> => {
    const heal = proxy.acceptAndClose();
    proxy.cut();
    try {
      await code();
    } finally {
      heal();
    }
    await eventually(async () => (await two.service.health()).listening, SOON, 'the way back');
  };

  const waits: Record<WaitOutcome, (key: string) => Promise<unknown>> = {
    granted: (key) => one.service.withLock(key, () => undefined, { group }),
    timeout: (key) =>
      two.service.withLock(key, () =>
        expect(wait(key, { waitTime: 1_000 })).rejects.toMatchObject({ code: 'WAIT_TIMEOUT' }),
      ),
    skipped: (key) =>
      two.service.withLock(key, async () => {
        expect(await one.service.tryAcquire(key, { group })).toBeUndefined();
      }),
    aborted: (key) =>
      two.service.withLock(key, async () => {
        const gone = new AbortController();
        const asked = wait(key, { signal: gone.signal });
        await waiting(one.store, key, 1);
        gone.abort();
        await expect(asked).rejects.toMatchObject({ code: 'ABORTED' });
      }),
    full: (key) =>
      two.service.withLock(key, () =>
        expect(wait(key, { maxQueue: 0 })).rejects.toMatchObject({ code: 'QUEUE_FULL' }),
      ),
    unavailable: (key) =>
      withoutRedis(() =>
        expect(two.service.acquire(key, { group, waitTime: 5_000 })).rejects.toMatchObject({
          code: 'STORE_UNAVAILABLE',
        }),
      ),
    /** A branch of a flow waits for another branch, and the lock of both is lost. */
    refused: (key) =>
      two.service.withLock(key, async (lock) => {
        const lost = new Promise((resolve) => lock.signal.addEventListener('abort', resolve));
        const first = two.service.withLock(key, () => lost);
        const second = two.service.withLock(key, () => undefined, { group });
        await one.service.forceRelease(key);
        await expect(second).rejects.toMatchObject({ code: 'LOST' });
        await first;
      }),
  };

  const holds: Record<HoldOutcome, (key: string) => Promise<unknown>> = {
    released: (key) => one.service.withLock(key, () => undefined, { group }),
    lost: async (key) => {
      const lock = await one.service.acquire(key, { group });
      await two.service.forceRelease(key);
      await eventually(() => lock.state === 'lost', SOON, 'the loss');
      await lock.release();
    },
    'max-hold': async (key) => {
      const lock = await one.service.acquire(key, { group, maxHold: 10 });
      await new Promise((resolve) => lock.signal.addEventListener('abort', resolve));
      await lock.release();
    },
  };

  /** What each does, and the counter that counts it, if there is one, with its name in prom-client and in OpenTelemetry. */
  const happenings: Record<
    LockEvent['type'],
    { readonly by: (key: string) => Promise<unknown>; readonly counter?: readonly [string, string] }
  > = {
    granted: { by: waits.granted },
    queued: { by: waits.timeout },
    lost: { by: holds.lost, counter: ['fairlock_lost_total', 'fairlock.lost'] },
    forced: { by: holds.lost },
    uncertain: {
      by: async (key) => {
        const lock = await two.service.acquire(key, { group });
        await withoutRedis(() => eventually(() => lock.state !== 'held', SOON, 'a failed renewal'));
        await lock.release();
      },
    },
    'slow-wait': {
      by: async (key) => {
        const busy = await two.service.acquire(key);
        const waiting = wait(key);
        await published('slow-wait');
        await busy.release();
        await waiting;
      },
    },
    'slow-hold': { by: (key) => one.service.withLock(key, () => published('slow-hold')) },
    'store-failure': {
      by: waits.unavailable,
      counter: ['fairlock_store_failures_total', 'fairlock.store.failures'],
    },
    'store-recovery': {
      by: async (key) => {
        await waits.unavailable(key);
        await two.service.withLock(key, () => undefined);
      },
    },
    'passed-over': {
      by: loseThePlace,
      counter: ['fairlock_passed_over_total', 'fairlock.passed_over'],
    },
  };

  test.each(Object.entries(waits))('a wait that ends as %s is counted as that', async (outcome, happens) => {
    const name = ['fairlock_wait_duration_seconds_count', 'fairlock.wait.duration'] as const;
    const before = await counted(name, outcome);
    await happens(`wait ${outcome}`);
    expect(await counted(name, outcome)).toEqual(before.map((count) => count + 1));
  });

  test.each(Object.entries(holds))('a hold that ends as %s is counted as that', async (outcome, happens) => {
    const name = ['fairlock_hold_duration_seconds_count', 'fairlock.hold.duration'] as const;
    const before = await counted(name, outcome);
    await happens(`hold ${outcome}`);
    expect(await counted(name, outcome)).toEqual(before.map((count) => count + 1));
  });

  test.each(Object.entries(happenings))(
    '%s is published, and counted if it has a counter',
    async (type, { by, counter }) => {
      events.length = 0;
      const before = counter && (await counted(counter));
      await by(`event ${type}`);
      const times = events.filter((event) => event.type === type).length;
      expect(times).toBeGreaterThan(0);
      if (counter) expect(await counted(counter)).toEqual(before!.map((count) => count + times));
    },
  );

  /** A request of the first client that waits. */
  async function wait(key: string, options: object = {}): Promise<void> {
    await (await one.service.acquire(key, { group, ...options })).release();
  }

  function published(type: LockEvent['type']): Promise<void> {
    return eventually(() => events.some((event) => event.type === type), SOON, type);
  }

  /** Redis loses the line of a waiter in Redisson's format, where a client notices that by itself. */
  async function loseThePlace(key: string): Promise<void> {
    const name = `${uniquePrefix()} ${key}`;
    const redis = new Redis(redisUrl());
    const store = await startStore({ redis: redisUrl(), lockWatchdogTimeout: 600 });
    const busy = await ask(store, { key: name, waitTime: SOON, maxQueue: Infinity, label: '' });
    const next = ask(store, { key: name, waitTime: 60_000, maxQueue: Infinity, label: '' });
    await waiting(store, name, 1);
    await redis.del(`redisson_lock_queue:{${name}}`, `redisson_lock_timeout:{${name}}`);
    await published('passed-over');
    await busy.release();
    await (await next).release();
    await store.close();
    await redis.quit();
  }

  /** What prom-client and OpenTelemetry have counted under a name, and an outcome if one is given. */
  async function counted([prometheus, otel]: readonly [string, string], outcome?: string): Promise<number[]> {
    const series = (await registry.metrics())
      .split('\n')
      .filter((line) => new RegExp(`^${prometheus}[{ ]`).test(line))
      .filter((line) => outcome === undefined || line.includes(`outcome="${outcome}"`));
    await reader.forceFlush();
    const { metrics } = exporter.getMetrics().at(-1)!.scopeMetrics[0]!;
    const points = metrics
      .filter(({ descriptor }) => descriptor.name === otel)
      .flatMap(({ dataPoints }) => dataPoints as readonly Point[])
      .filter(({ attributes }) => outcome === undefined || attributes['outcome'] === outcome);
    return [
      sum(series.map((line) => Number(line.split(' ').at(-1)))),
      sum(points.map(({ value }) => (typeof value === 'number' ? value : value.count))),
    ];
  }
});

interface Point {
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly value: number | { readonly count: number };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
