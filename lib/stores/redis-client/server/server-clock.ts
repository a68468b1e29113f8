/** A sample is used for a minute; clocks drift little in that time. */
const SAMPLE_LIFE = 60_000;
/** Drift allowed for between the two clocks, ms of error for each ms of age (200 ppm). */
const DRIFT = 0.0002;

interface Sample {
  /** Bounds of (Redis time − monotonic time). */
  readonly low: number;
  readonly high: number;
  readonly takenAt: number;
}

/**
 * Redis time as seen from this process (R11).
 *
 * Each reply carries the server's time T, sent at a and received at b on the monotonic clock, so that the offset lies
 * between T − b and T + 1 − a. The narrowest sample of the last minute counts.
 */
export class ServerClock {
  private best: Sample | undefined;
  /** When the last reply came (monotonic): since then the clock may have been set. */
  private observedAt = -Infinity;

  /** @param onStep the server's clock was set: by at least so many ms (negative: back) */
  constructor(private readonly onStep: (step: number) => void) {}

  /** A reply with server time `serverTime` (ms) to a command sent and received at these monotonic times. */
  observe(sentAt: number, receivedAt: number, serverTime: number): void {
    this.observedAt = receivedAt;
    const low = serverTime - receivedAt;
    const high = serverTime + 1 - sentAt;
    const sample = { low, high, takenAt: receivedAt };
    const best = (this.best ??= sample);
    const age = receivedAt - best.takenAt;
    const error = age * DRIFT;
    if (low > best.high + error || high < best.low - error) {
      // No offset fits both samples: a clock was set, or another node answered while a slot moves. The offset is unknown until the
      // next answer.
      this.best = undefined;
      this.onStep(low > best.high ? low - best.high : high - best.low);
    } else if (age > SAMPLE_LIFE || high - low <= best.high - best.low + 2 * error) {
      this.best = sample;
    }
  }

  /** The Redis time (ms) that is surely not later than the monotonic time `instant`; 0 while nothing is known. */
  atMost(instant: number): number {
    if (!this.best) return 0;
    return Math.floor(instant + this.best.low - (instant - this.best.takenAt) * DRIFT);
  }

  /**
   * The largest possible age (ms) of a message stamped with Redis time `stamp`. Infinity while the offset is unknown, and for a stamp
   * in the future: then the server's clock was set, and this process has not noticed yet.
   *
   * @param trusted how long (ms) after a reply the offset is relied on; later the age is Infinity
   */
  ageAtMost(stamp: number, trusted: number): number {
    const instant = performance.now();
    if (!this.best || instant - this.observedAt > trusted) return Infinity;
    const age = instant + this.best.high + (instant - this.best.takenAt) * DRIFT - stamp;
    return age < 0 ? Infinity : age;
  }
}

/**
 * The clocks of the servers that answer (R11): one, or one for each node of a Cluster, because nodes need not agree on the time.
 */
export class ServerClocks {
  private readonly clocks = new Map<string, ServerClock>();

  /** @param onStep the clock of a server was set: by at least so many ms (negative: back) */
  constructor(private readonly onStep: (step: number) => void) {}

  /** The clock of the server at `address`; where the server is not known, a clock without samples. */
  of(address: string | undefined): ServerClock {
    if (address === undefined) return new ServerClock(this.onStep);
    let clock = this.clocks.get(address);
    if (!clock) this.clocks.set(address, (clock = new ServerClock(this.onStep)));
    return clock;
  }

  /** Another server may answer at `address` next, with another clock. */
  forget(address: string): void {
    this.clocks.delete(address);
  }
}

/** Warns that the server's clock was set by `step` ms (negative: back), if that matters to a lease. */
export function warnOfClockStep(
  step: number,
  { lease, onWarning }: { readonly lease: number; readonly onWarning: (message: string) => void },
): void {
  if (Math.abs(step) < lease / 10) return;
  onWarning(
    `The clock of Redis stepped by about ${Math.round(step)} ms. Leases are measured by it: a step forward ends them ` +
      'early (holders are notified), a step back makes a crashed holder block for longer. Let NTP slew the clock instead.',
  );
}
