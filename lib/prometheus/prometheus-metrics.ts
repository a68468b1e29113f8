import { Counter, Gauge, Histogram, register, type OpenMetricsContentType, Registry } from 'prom-client';
import type { LockLoad } from '../core/engine/engines.js';
import { LockConfigurationError } from '../core/errors/errors.js';
import { BUCKETS, presentLoad, seconds } from '../observe/load-gauges.js';
import { LockNames } from '../observe/lock-names.js';
import { subscribe } from '../observe/subscriptions.js';

export interface PrometheusMetricsOptions {
  /** Where the metrics are registered. Default: the default registry of prom-client, which most `/metrics` endpoints show. */
  registry?: Registry | Registry<OpenMetricsContentType> | undefined;
  /** Upper bounds of the histograms, in seconds. Default: 15 bounds from 1 ms to 60 s. */
  buckets?: readonly number[] | undefined;
}

type AnyRegistry = NonNullable<PrometheusMetricsOptions['registry']>;

/**
 * Counts the waits, holds and failures of this process in metrics of prom-client: `fairlock_wait_duration_seconds`,
 * `fairlock_hold_duration_seconds`, `fairlock_waiting`, `fairlock_held`, `fairlock_oldest_wait_seconds`,
 * `fairlock_oldest_hold_seconds`, `fairlock_lost_total`, `fairlock_passed_over_total`, `fairlock_store_failures_total`. The label `lock` is the
 * template of the key, never the key.
 *
 * @returns a function that ends the counting and removes the metrics from the registry
 * @throws LockConfigurationError if the registry already has a metric of one of these names; it is left unchanged
 */
export function collectPrometheusMetrics({
  registry = register,
  buckets = BUCKETS,
}: PrometheusMetricsOptions = {}): () => void {
  const locks = new LockNames();
  // Made in a separate registry, which knows their names.
  const own = new Registry();
  const metrics = createMetrics(own, [...buckets], locks);
  // Read once: prom-client changes the `name` of a counter when it writes OpenMetrics.
  const names = own.getMetricsAsArray().map(({ name }) => name);
  refuseIfPresent(names, registry);
  for (const metric of Object.values(metrics)) registry.registerMetric<string>(metric);
  const end = subscribe({
    waitEnds: ({ lock, outcome = 'refused', startedAt, endedAt = startedAt }) =>
      metrics.wait.observe({ lock: locks.of(lock), outcome }, seconds(startedAt, endedAt)),
    holdEnds: ({ lock, outcome = 'released', startedAt, endedAt = startedAt }) =>
      metrics.hold.observe({ lock: locks.of(lock), outcome }, seconds(startedAt, endedAt)),
    onEvent: (event) => {
      if (event.type === 'lost') metrics.lost.inc({ lock: locks.of(event.lock) });
      else if (event.type === 'passed-over') metrics.passedOver.inc();
      else if (event.type === 'store-failure') metrics.failures.inc({ failure: event.failure });
    },
  });
  return () => {
    end();
    for (const name of names) {
      // Keep metrics of another collection, which may have begun after the registry was cleared.
      if (registry.getSingleMetric(name) === own.getSingleMetric(name)) registry.removeSingleMetric(name);
    }
  };
}

/** Two collections of one process would count every wait and every hold twice. */
function refuseIfPresent(names: readonly string[], registry: AnyRegistry): void {
  const present = names.find((name) => registry.getSingleMetric(name));
  if (present === undefined) return;
  throw new LockConfigurationError(
    `The prom-client registry already has the metric ${present}, so the locks of this process are already counted. Import ` +
      'FairLockPrometheusModule, or call collectPrometheusMetrics, only once: it counts all registrations of FairLockModule. For a second ' +
      'collection, pass another registry: { registry: new Registry() }.',
  );
}

function createMetrics(registry: Registry, buckets: number[], names: LockNames) {
  const registers = [registry];
  // prom-client adds up the gauges of workers (node:cluster), unless it is told otherwise.
  const gauge = (
    name: string,
    help: string,
    value: (load: LockLoad) => number,
    aggregator: 'sum' | 'max' = 'sum',
  ): Gauge<'lock'> =>
    new Gauge({
      name,
      help,
      registers,
      aggregator,
      labelNames: ['lock'],
      collect() {
        for (const [lock, load] of presentLoad(names)) this.set({ lock }, value(load));
      },
    });
  const duration = (name: string, help: string): Histogram<'lock' | 'outcome'> =>
    new Histogram({ name, help, registers, buckets, labelNames: ['lock', 'outcome'] });
  return {
    wait: duration(
      'fairlock_wait_duration_seconds',
      'How long requests waited for a lock, by how that ended',
    ),
    hold: duration('fairlock_hold_duration_seconds', 'How long locks were held, by how that ended'),
    waiting: gauge(
      'fairlock_waiting',
      'Requests of this process that are waiting for a lock',
      ({ waiting }) => waiting,
    ),
    held: gauge('fairlock_held', 'Locks that this process holds', ({ held }) => held),
    oldestWait: gauge(
      'fairlock_oldest_wait_seconds',
      'How long the oldest waiting request has waited',
      ({ oldestWait }) => oldestWait / 1_000,
      'max',
    ),
    oldestHold: gauge(
      'fairlock_oldest_hold_seconds',
      'How long the oldest hold has lasted that has not ended',
      ({ oldestHold }) => oldestHold / 1_000,
      'max',
    ),
    lost: new Counter({
      name: 'fairlock_lost_total',
      help: 'Locks that were lost while they were held',
      registers,
      labelNames: ['lock'],
      // From 0 on: where a series begins with its first loss, `increase()` does not see that loss.
      collect() {
        for (const lock of names.all()) this.inc({ lock }, 0);
      },
    }),
    passedOver: new Counter({
      name: 'fairlock_passed_over_total',
      help: 'Requests that lost their place because Redis considered them dead',
      registers,
    }),
    failures: new Counter({
      name: 'fairlock_store_failures_total',
      help: 'Commands that Redis did not serve, by cause',
      registers,
      labelNames: ['failure'],
    }),
  };
}
