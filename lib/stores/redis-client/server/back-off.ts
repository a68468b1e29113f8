import type { CommandFailure } from './server-failure.js';

/** Bounds of the pause before a command is repeated, ms. */
const SHORTEST = 100;
const LONGEST = 1_000;
/** A pause as a part of the time since the last response. */
const SHARE = 1 / 4;

/**
 * How long the locks of a client wait before they repeat a failed command. All locks share one pause, which grows during an outage,
 * so that a thousand locks neither keep the process busy nor flood a server that comes back.
 */
export class BackOff {
  /** Since when nothing was answered (monotonic ms); to be cleared by a response. */
  since: number | undefined;

  /** Adds the pause to a failure. Without a connection there is no repeating: each lock sends its request after the reconnect. */
  after(failure: CommandFailure, connected: boolean): CommandFailure {
    const time = performance.now();
    this.since ??= time;
    const pause = Math.min(Math.max(SHORTEST, (time - this.since) * SHARE), LONGEST);
    return failure.after(connected ? pause : Infinity);
  }
}
