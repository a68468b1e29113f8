import { StallWatch } from './stall-watch.mjs';
import { eventually, SOON } from './waiting.js';

/**
 * Measures what a bound allows on a machine that is busy: time in which this process was given no core is left out. Time in which it
 * computed counts, so an event loop that is blocked is not excused.
 */
export class Stopwatch {
  private readonly start = performance.now();
  private idle = 0;
  private stoppedAt: number | undefined;
  private readonly watch = new StallWatch((ms) => (this.idle += ms));

  /** Milliseconds from its creation to the first call of this, without the stalls. */
  stop(): number {
    this.watch.stop();
    this.stoppedAt ??= performance.now();
    return this.stoppedAt - this.start - this.idle;
  }
}

/** Waits until `predicate` says true. Resolves with the milliseconds that it took, without the stalls, for a bound. */
export async function timeUntil(predicate: () => boolean | Promise<boolean>, what: string): Promise<number> {
  const watch = new Stopwatch();
  await eventually(predicate, SOON, what);
  return watch.stop();
}
