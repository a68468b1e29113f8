import { type DynamicModule, Inject, Module, type OnModuleDestroy } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { register } from 'prom-client';
import { printAs } from '../core/runtime/printing.js';
import { collectPrometheusMetrics, type PrometheusMetricsOptions } from './prometheus-metrics.js';

const OPTIONS = Symbol('FairLockPrometheus: options');

/** The collections of applications that have not finished their start. If an application fails to boot, Nest calls none of its hooks. */
const starting = new WeakMap<object, FairLockPrometheusModule>();

/**
 * Counts the locks of the process in prom-client's metrics for as long as the application runs. Import it once, in the root
 * module. The application itself provides the endpoint that shows the registry.
 *
 * @example
 * imports: [FairLockModule.forRoot(), FairLockPrometheusModule.forRoot()]
 */
@Module({})
export class FairLockPrometheusModule implements OnModuleDestroy {
  private readonly registry: object;
  private readonly end: () => void;

  /** @internal Nest makes it. */
  constructor(
    @Inject(OPTIONS) options: PrometheusMetricsOptions,
    @Inject(ModulesContainer) private readonly application: ModulesContainer,
  ) {
    this.registry = options.registry ?? register;
    const earlier = starting.get(this.registry);
    if (earlier && earlier.application !== application) earlier.onModuleDestroy();
    this.end = collectPrometheusMetrics(options);
    starting.set(this.registry, this);
  }

  static forRoot(options: PrometheusMetricsOptions = {}): DynamicModule {
    return { module: FairLockPrometheusModule, providers: [{ provide: OPTIONS, useValue: options }] };
  }

  /** @internal Nest calls it. */
  onApplicationBootstrap(): void {
    starting.delete(this.registry);
  }

  onModuleDestroy(): void {
    if (starting.get(this.registry) === this) starting.delete(this.registry);
    this.end();
  }
}

printAs('FairLockPrometheusModule', FairLockPrometheusModule);
