import { eventually, SOON } from './waiting.js';

/** A tick of the watch, ms. */
const PERIOD = 10;
/** Less than that is what timers do anyway, ms. */
const NOTICEABLE = 20;

/**
 * Measures what a bound allows on a machine that is busy: time in which this process was given no core is left out. Time in which it
 * computed counts, so an event loop that is blocked is not excused.
 */
export class Stopwatch {
  private readonly start = performance.now();
  private last = this.start;
  private used = process.cpuUsage();
  private stalled = 0;
  private readonly timer = setInterval(() => this.tick(), PERIOD).unref();

  /** Milliseconds since it was made, without the stalls; the watch stands from now on. */
  stop(): number {
    clearInterval(this.timer);
    this.tick();
    return this.last - this.start - this.stalled;
  }

  private tick(): void {
    const now = performance.now();
    const { user, system } = process.cpuUsage(this.used);
    const idle = now - this.last - PERIOD - (user + system) / 1_000;
    if (idle >= NOTICEABLE) this.stalled += idle;
    this.last = now;
    this.used = process.cpuUsage();
  }
}

/** Waits until `predicate` says true. Resolves with the milliseconds that it took, without the stalls, for a bound. */
export async function timeUntil(predicate: () => boolean | Promise<boolean>, what: string): Promise<number> {
  const watch = new Stopwatch();
  await eventually(predicate, SOON, what);
  return watch.stop();
}
