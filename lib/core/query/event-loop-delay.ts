import { monitorEventLoopDelay, type IntervalHistogram } from 'node:perf_hooks';
import { unref } from '../runtime/unref.js';

/** How often the delay is sampled, ms. */
const RESOLUTION = 20;
/** Sampling costs a timer of libuv, so it ends after this many ms without a call of `read`. */
const IDLE = 60_000;

/** The mean delay of the event loop between two calls of `read`. Costs nothing before the first call and a minute after the last. */
export class EventLoopDelay {
  private histogram: IntervalHistogram | undefined;
  private idle: NodeJS.Timeout | undefined;

  /** Mean delay since the last call, in ms; 0 at the first, which begins to measure. */
  read(): number {
    clearTimeout(this.idle);
    this.idle = unref(setTimeout(() => this.end(), IDLE));
    if (!this.histogram) {
      this.histogram = monitorEventLoopDelay({ resolution: RESOLUTION });
      this.histogram.enable();
      return 0;
    }
    // The histogram includes the sampling interval.
    const mean = this.histogram.mean / 1e6 - RESOLUTION;
    this.histogram.reset();
    return Number.isFinite(mean) && mean > 0 ? Number(mean.toFixed(1)) : 0;
  }

  private end(): void {
    this.histogram?.disable();
    this.histogram = undefined;
  }
}
