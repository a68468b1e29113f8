import type { MeterProvider, TracerProvider } from '@opentelemetry/api';
import { countInOtel } from './otel-metrics.js';
import { traceInOtel } from './otel-spans.js';

export { linksToTerm } from './otel-spans.js';

export interface FairLockTelemetryOptions {
  /** Whether waits and holds are spans. Default: true. */
  spans?: boolean | undefined;
  /** Whether they are counted. Default: true. */
  metrics?: boolean | undefined;
  /** Whether spans carry the key, which can be personal data. Default: false. */
  keys?: boolean | undefined;
  /** In place of the global providers. */
  tracerProvider?: TracerProvider | undefined;
  meterProvider?: MeterProvider | undefined;
}

/**
 * Reports the locks of this process to OpenTelemetry. Call it once, after the SDK has been started, before or after the application is
 * made. The section of a lock runs inside of the span of its hold; the spans of a leader's section begin separate traces (`linksToTerm`).
 *
 * @returns a function that ends the reporting
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
