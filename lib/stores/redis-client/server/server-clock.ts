import { elapsedSince, type Instant } from '../../../core/port/lease.js';

// old store only

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
  /** When the last command that was answered was sent: the clock may have been set since, even while its reply lay unread. */
  private askedAt: Instant | undefined;
  /** The clock as it was before it was set back. */
  private former: Omit<Sample, 'earliest'> | undefined;

  /** @param onStep the server's clock was set: by at least so many ms (negative: back) */
  constructor(private readonly onStep: (step: number) => void) {}

  /** A reply with server time `serverTime` (ms) to a command sent and received at these instants. */
  observe(sentAt: Instant, receivedAt: Instant, serverTime: number): void {
    this.askedAt = sentAt;
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
    const latest = latestAt(best, receivedAt);
    // By how much this reply is outside of the times that fit the best sample; negative: behind them.
    const step = Math.max(0, sample.earliest - latest) + Math.min(0, sample.latest - earliest);
    if (step !== 0) {
      // No time fits both samples, whichever local clock is right: the server's clock was set, or another node answered while a slot
      // moves. The time is unknown until the next answer.
      this.best = undefined;
      if (step < 0) this.former = { at: receivedAt, latest: Math.max(latest, this.formerly(receivedAt)) };
      this.onStep(step);
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
   */
  ageAtMost(stamp: number, instant: Instant): number {
    const { best, askedAt } = this;
    if (!best || !askedAt || disagreement(best.at, instant) > AGREEMENT) return Infinity;
    const age = latestAt(best, instant) - stamp;
    // A message from before a step back looks younger than it is, and so does one from after a step forward that no reply has shown yet.
    return age < 0 ? Infinity : Math.max(age, this.formerly(instant) - stamp, elapsedSince(askedAt, instant));
  }

  /** The time (ms) at `instant` by the clock as it was before it was set back; 0 if it was not in the last minute. */
  private formerly(instant: Instant): number {
    const { former } = this;
    return former && elapsedSince(former.at, instant) < SAMPLE_LIFE ? latestAt(former, instant) : 0;
  }
}

/** The time of Redis at `instant` is not later than this, if its clock was not set since the sample. */
function latestAt({ at, latest }: Omit<Sample, 'earliest'>, instant: Instant): number {
  const elapsed = elapsedSince(at, instant);
  return latest + elapsed + elapsed * DRIFT;
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
