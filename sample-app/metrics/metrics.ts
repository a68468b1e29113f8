import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { collectPrometheusMetrics } from 'nestjs-fair-lock/prometheus';
import { Registry } from 'prom-client';

/**
 * What Prometheus reads: how long calls waited for locks, how long they held them, how many wait now. In a separate registry, so
 * that a process can have several applications, as tests do; with one, `FairLockPrometheusModule` is shorter.
 */
@Injectable()
export class Metrics implements OnModuleDestroy {
  readonly registry = new Registry();
  private readonly end = collectPrometheusMetrics({ registry: this.registry });

  onModuleDestroy(): void {
    this.end();
  }
}
