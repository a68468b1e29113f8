import type { MeterProvider, TracerProvider } from '@opentelemetry/api';
import { countInOtel } from './otel-metrics.js';
import { traceInOtel } from './otel-spans.js';

export interface FairLockTelemetryOptions {
  /** Whether waits and holds are spans. Default: true. */
  spans?: boolean | undefined;
  /** Whether they are counted. Default: true. */
  metrics?: boolean | undefined;
  /** Whether spans carry the key, which may be personal data. Default: false. */
  keys?: boolean | undefined;
  /** In place of the global providers. */
  tracerProvider?: TracerProvider | undefined;
  meterProvider?: MeterProvider | undefined;
}

/**
 * Reports the locks of this process to OpenTelemetry. To be called once, after the SDK has been started; where that comes before
 * or after the application is made does not matter. The section of a lock runs inside of the span of its hold.
 *
 * @returns ends it
 */
export function instrumentFairLock({
  spans = true,
  metrics = true,
  keys = false,
  tracerProvider,
  meterProvider,
}: FairLockTelemetryOptions = {}): () => void {
  const ends = [
    ...(spans ? [traceInOtel(tracerProvider, keys)] : []),
    ...(metrics ? [countInOtel(meterProvider)] : []),
  ];
  return () => {
    for (const end of ends) end();
  };
}
