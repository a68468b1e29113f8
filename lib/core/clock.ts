/**
 * An instant on both local clocks.
 *
 * The monotonic clock stands still while a machine is suspended; the wall clock can be set. A lease must err to
 * "lost", so elapsed time is the larger of the two differences (R12).
 */
export interface Instant {
  readonly monotonic: number;
  readonly wall: number;
}

export function now(): Instant {
  return { monotonic: performance.now(), wall: Date.now() };
}

/** Milliseconds since `start`, by the local clock that shows more. */
export function elapsedSince(start: Instant, end = now()): number {
  return Math.max(end.monotonic - start.monotonic, end.wall - start.wall);
}
