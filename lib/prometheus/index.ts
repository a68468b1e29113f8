export { FairLockPrometheusModule } from './fair-lock-prometheus.module.js';
export { collectPrometheusMetrics, type PrometheusMetricsOptions } from './prometheus-metrics.js';
