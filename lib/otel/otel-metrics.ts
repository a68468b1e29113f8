import { metrics, type MeterProvider } from '@opentelemetry/api';
import type { LockLoad } from '../core/engine/engines.js';
import { VERSION } from '../core/runtime/version.js';
import { BUCKETS, presentLoad, seconds } from '../observe/load-gauges.js';
import { LockNames } from '../observe/lock-names.js';
import { subscribeGuarded } from './guarded.js';

/** Counts in OpenTelemetry what `nestjs-fair-lock/prometheus` counts in prom-client. The returned function ends the counting. */
export function countInOtel(provider: MeterProvider | undefined): () => void {
  const meter = (provider ?? metrics).getMeter('nestjs-fair-lock', VERSION);
  const duration = { unit: 's', advice: { explicitBucketBoundaries: BUCKETS } };
  const wait = meter.createHistogram('fairlock.wait.duration', duration);
  const hold = meter.createHistogram('fairlock.hold.duration', duration);
  const lost = meter.createCounter('fairlock.lost');
  // From 0 on: where a series begins with its first loss, `increase()` of Prometheus does not see that loss.
  const names = new LockNames((lock) => lost.add(0, { lock }));
  const passedOver = meter.createCounter('fairlock.passed_over');
  const failures = meter.createCounter('fairlock.store.failures');
  const gauges: [name: string, value: (load: LockLoad) => number, unit: string][] = [
    ['fairlock.waiting', ({ waiting }) => waiting, '{request}'],
    ['fairlock.held', ({ held }) => held, '{lock}'],
    ['fairlock.oldest_wait', ({ oldestWait }) => oldestWait / 1_000, 's'],
    ['fairlock.oldest_hold', ({ oldestHold }) => oldestHold / 1_000, 's'],
  ];
  const ends = gauges.map(([name, value, unit]) => {
    const gauge = meter.createObservableGauge(name, { unit });
    const observe: Parameters<typeof gauge.addCallback>[0] = (result) => {
      for (const [lock, load] of presentLoad(names)) result.observe(value(load), { lock });
    };
    gauge.addCallback(observe);
    return () => gauge.removeCallback(observe);
  });
  ends.push(
    subscribeGuarded({
      waitEnds: ({ lock, outcome = 'refused', startedAt, endedAt = startedAt }) =>
        wait.record(seconds(startedAt, endedAt), { lock: names.of(lock), outcome }),
      holdEnds: ({ lock, outcome = 'released', startedAt, endedAt = startedAt }) =>
        hold.record(seconds(startedAt, endedAt), { lock: names.of(lock), outcome }),
      onEvent: (event) => {
        if (event.type === 'lost') lost.add(1, { lock: names.of(event.lock) });
        else if (event.type === 'passed-over') passedOver.add(1);
        else if (event.type === 'store-failure') failures.add(1, { failure: event.failure });
      },
    }),
  );
  return () => {
    for (const end of ends) end();
  };
}
