import type { CommandFailure } from './server-failure.js';

/** Bounds of the pause before a command is repeated, ms. */
const SHORTEST = 100;
const LONGEST = 1_000;
/** Of the time for which nothing has been answered, the part that a pause takes. */
const SHARE = 1 / 4;

/**
 * How long the locks of a client wait before they repeat what failed: together, so that a thousand of them do not keep a
 * process busy, and do not all send to a server that comes back ten times a second.
 */
export class BackOff {
  /** Since when nothing was answered (monotonic ms); to be cleared by an answer. */
  since: number | undefined;

  /** Adds the pause to a failure. Without a connection nothing is repeated: every lock sends its request when there is one again. */
  after(failure: CommandFailure, connected: boolean): CommandFailure {
    const time = performance.now();
    this.since ??= time;
    const pause = Math.min(Math.max(SHORTEST, (time - this.since) * SHARE), LONGEST);
    return failure.after(connected ? pause : Infinity);
  }
}
