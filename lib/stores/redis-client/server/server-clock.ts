import { elapsedSince, type Instant } from '../../../core/port/lease.js';

/** A sample is used for a minute; clocks drift little in that time. */
const SAMPLE_LIFE = 60_000;
/** Drift allowed for between the clocks, ms of error for each ms of age (200 ppm). */
const DRIFT = 0.0002;
/** The two clocks of this process agree if they differ by no more than this, ms; a process may lose its core between two readings. */
const AGREEMENT = 50;

/** The time of Redis at the instant `at` was between `earliest` and `latest`. */
interface Sample {
  readonly at: Instant;
  readonly earliest: number;
  readonly latest: number;
}

/**
 * Redis time as seen from this process (R11).
 *
 * Each reply carries the server's time T, sent at a and received at b, so that the server's time at b lies between T and T + 1 + (b − a).
 * From then on it has advanced by at least the smaller and at most the larger of the differences of the two local clocks: the
 * monotonic clock stands still while the host is suspended, and the wall clock may be set (R12). The narrowest sample of the last minute counts.
 */
export class ServerClock {
  private best: Sample | undefined;
  /** When the last reply came: since then the clock may have been set. */
  private observedAt: Instant | undefined;

  /** @param onStep the server's clock was set: by at least so many ms (negative: back) */
  constructor(private readonly onStep: (step: number) => void) {}

  /** A reply with server time `serverTime` (ms) to a command sent and received at these instants. */
  observe(sentAt: Instant, receivedAt: Instant, serverTime: number): void {
    this.observedAt = receivedAt;
    const sample = {
      at: receivedAt,
      earliest: serverTime,
      latest: serverTime + 1 + elapsedSince(sentAt, receivedAt),
    };
    const best = (this.best ??= sample);
    const longer = elapsedSince(best.at, receivedAt);
    const apart = disagreement(best.at, receivedAt);
    const error = longer * DRIFT;
    const earliest = best.earliest + longer - apart - error;
    const latest = best.latest + longer + error;
    if (sample.earliest > latest || sample.latest < earliest) {
      // No time fits both samples, whichever local clock is right: the server's clock was set, or another node answered while a slot
      // moves. The time is unknown until the next answer.
      this.best = undefined;
      this.onStep(sample.earliest > latest ? sample.earliest - latest : sample.latest - earliest);
    } else if (longer > SAMPLE_LIFE || apart > AGREEMENT || width(sample) <= width(best) + 2 * error) {
      this.best = sample;
    }
  }

  /** The Redis time (ms) that is surely not later than the monotonic time `instant`; 0 while nothing is known. */
  atMost(instant: number): number {
    if (!this.best) return 0;
    const age = instant - this.best.at.monotonic;
    return Math.floor(this.best.earliest + age - age * DRIFT);
  }

  /**
   * The largest possible age (ms) at `instant` of a message stamped with Redis time `stamp`. Infinity while it is unknown: without a
   * sample, for a stamp in the future (then the server's clock was set, and this process has not noticed yet), and where the local clocks
   * disagree about the time since the sample (then this host was suspended, or its wall clock was set).
   *
   * @param trusted how long (ms) after a reply the sample is relied on; later the age is Infinity
   */
  ageAtMost(stamp: number, instant: Instant, trusted: number): number {
    const { best, observedAt } = this;
    if (!best || !observedAt || elapsedSince(observedAt, instant) > trusted) return Infinity;
    if (disagreement(best.at, instant) > AGREEMENT) return Infinity;
    const elapsed = elapsedSince(best.at, instant);
    const age = best.latest + elapsed + elapsed * DRIFT - stamp;
    return age < 0 ? Infinity : age;
  }
}

/** By how much the two local clocks differ about the time from `start` to `end`, ms. */
function disagreement(start: Instant, end: Instant): number {
  return Math.abs(end.monotonic - start.monotonic - (end.wall - start.wall));
}

function width({ earliest, latest }: Sample): number {
  return latest - earliest;
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
