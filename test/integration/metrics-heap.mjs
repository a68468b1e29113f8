/**
 * Locks as many different keys as it is told, with metrics of both exporters, and prints after each amount the number of series
 * and the heap in use. Run with --expose-gc.
 */
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import { Registry } from 'prom-client';

const { dist, redis, keyPrefix, amounts } = JSON.parse(process.argv[2]);
const from = (path) => import(new URL(path, dist).href);
const { LockEngine } = await from('core/engine/lock-engine.js');
const { RedisLockStore } = await from('stores/redis/redis-lock-store.js');
const { collectPrometheusMetrics } = await from('prometheus/index.js');
const { instrumentFairLock } = await from('otel/index.js');
const TIMES = { lease: 30_000, livenessWindow: 10_000, commandTimeout: 10_000 };
/** Requests under way at a time. */
const CONCURRENCY = 200;

const registry = new Registry();
const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 });
const meterProvider = new MeterProvider({ readers: [reader] });
const ends = [collectPrometheusMetrics({ registry }), instrumentFairLock({ spans: false, meterProvider })];
const onWarning = () => undefined;
const store = new RedisLockStore({ redis, keyPrefix, ...TIMES, onWarning });
const engine = new LockEngine(store, {
  waitTime: 60_000,
  maxQueue: Infinity,
  maxHold: Infinity,
  onLost: 'signal',
  drainTimeout: 1_000,
  reentrant: true,
  onWarning,
});
await engine.start();

let done = 0;
for (const amount of amounts) {
  await Promise.all(Array.from({ length: CONCURRENCY }, () => lockUntil(amount)));
  console.log(JSON.stringify({ keys: done, series: await seriesOfBoth(), heap: await heap() }));
}
await engine.close();
for (const end of ends) end();
await meterProvider.shutdown();

async function lockUntil(amount) {
  while (done < amount) {
    done += 1;
    await engine.service.withLock(`order:${done}`, () => undefined, {
      group: 'order:<0.id>',
      label: 'Orders.pay',
    });
  }
}

async function seriesOfBoth() {
  const lines = (await registry.metrics()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  await reader.forceFlush();
  const { scopeMetrics } = exporter.getMetrics().at(-1);
  const points = scopeMetrics.flatMap(({ metrics }) => metrics.flatMap(({ dataPoints }) => dataPoints));
  exporter.reset();
  return [lines.length, points.length];
}

/** After what Redis keeps a lock for, so that nothing is on its way any more. */
async function heap() {
  for (let i = 0; i < 5; i += 1) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    globalThis.gc();
  }
  return process.memoryUsage().heapUsed;
}
