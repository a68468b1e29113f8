import { type DynamicModule, Inject, Module, type OnModuleDestroy } from '@nestjs/common';
import { collectPrometheusMetrics, type PrometheusMetricsOptions } from './prometheus-metrics.js';

const OPTIONS = Symbol('FairLockPrometheus: options');

/**
 * Counts the locks of the process in prom-client's metrics for as long as the application runs. Import it once, in the root
 * module; the endpoint that shows the registry stays the application's.
 *
 * @example
 * imports: [FairLockModule.forRoot(), FairLockPrometheusModule.forRoot()]
 */
@Module({})
export class FairLockPrometheusModule implements OnModuleDestroy {
  private readonly end: () => void;

  /** @internal Nest makes it. */
  constructor(@Inject(OPTIONS) options: PrometheusMetricsOptions) {
    this.end = collectPrometheusMetrics(options);
  }

  static forRoot(options: PrometheusMetricsOptions = {}): DynamicModule {
    return { module: FairLockPrometheusModule, providers: [{ provide: OPTIONS, useValue: options }] };
  }

  onModuleDestroy(): void {
    this.end();
  }
}
