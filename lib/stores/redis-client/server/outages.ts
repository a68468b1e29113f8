import { sentenceOf, type StoreFailure } from '../../../core/errors/errors.js';
import { withPage } from '../../../core/errors/pages.js';
import { duration } from '../../../core/errors/text.js';
import type { CommandFailure } from './server-failure.js';

/** At most one line about a failure in this time (ms), however often the server comes and goes. */
const PERIOD = 10_000;
/**
 * A connection that breaks is no outage if another one serves within this time (ms); and a reply ends an outage if nothing has failed for as
 * long, since a server that is slow or full serves some commands.
 */
const QUIET = 500;

/** Failures of the connection: a new one ends them. */
const OF_CONNECTION: ReadonlySet<StoreFailure> = new Set(['unreachable', 'loading', 'wrong-credentials']);

/** A time during which the server does not serve locks. Times are those of the monotonic clock. */
interface Outage {
  readonly from: number;
  failedAt: number;
  failure: StoreFailure;
  /** When a command was served after the last that failed. */
  servedAt: number | undefined;
  /** Whether the log has a line about it. */
  told: boolean;
}

/** Tells the operator when the server stops serving locks and why, that this goes on, and when it serves them again. */
export class Outages {
  private present: Outage | undefined;
  private last = { from: -Infinity, to: -Infinity };
  private toldAt = -Infinity;
  /** Since when the connection is broken. */
  private brokenAt: number | undefined;
  /** Until then, the check at startup warns. */
  private started = false;

  constructor(private readonly warn: (message: string) => void) {}

  /** Milliseconds since `moment` in which the server did not serve locks, by the present outage or the last one. */
  lastedSince(moment: number): number {
    const { from, to } = this.present ? { from: this.present.from, to: performance.now() } : this.last;
    return Math.max(0, to - Math.max(from, moment));
  }

  /** The check at startup has ended, with its warnings. */
  start(connected: boolean): void {
    this.started = true;
    if (connected) this.present = undefined;
    else {
      this.toldAt = performance.now();
      this.present = {
        from: this.toldAt,
        failedAt: this.toldAt,
        failure: 'unreachable',
        servedAt: undefined,
        told: true,
      };
    }
  }

  /** The connection broke. */
  broken(): void {
    this.brokenAt ??= performance.now();
  }

  /** There is a connection to the server. */
  connected(): void {
    this.brokenAt = undefined;
    if (this.present && OF_CONNECTION.has(this.present.failure)) this.end(performance.now());
  }

  /** An attempt to connect failed. */
  notConnected(failure: CommandFailure): void {
    this.note(failure);
  }

  /** A command failed. */
  failed(failure: CommandFailure): void {
    if (failure.failure === 'unreachable' && !this.present) {
      this.broken();
      if (performance.now() - this.brokenAt! < QUIET) return;
    }
    this.note(failure);
  }

  /** A command was served. */
  served(): void {
    const { present } = this;
    this.brokenAt = undefined;
    if (!present) return;
    const time = performance.now();
    present.servedAt ??= time;
    if (time - present.failedAt >= QUIET) this.end(present.servedAt);
  }

  private note({ failure, error }: CommandFailure): void {
    // The first two concern a single lock.
    if (failure === undefined || failure === 'foreign-type' || !this.started) return;
    const time = performance.now();
    const from = this.present?.from ?? this.brokenAt ?? time;
    const told = this.present?.told ?? false;
    const outage = (this.present = { from, failedAt: time, failure, servedAt: undefined, told });
    if (time - this.toldAt < PERIOD) return;
    this.toldAt = time;
    const why = sentenceOf(error).replace(/^Redis could not serve the lock: /, '');
    this.tell(
      told
        ? `Redis has not served locks for ${duration(time - from)}: ${why}`
        : `Redis stopped serving locks: ${why} New calls fail with STORE_UNAVAILABLE, queued calls keep waiting, and holders keep their ` +
            'locks until their leases expire. This process keeps trying.',
    );
    outage.told = true;
  }

  private end(to: number): void {
    const { from, told } = this.present!;
    this.present = undefined;
    this.last = { from, to };
    if (told) this.tell(`Redis serves locks again, after ${duration(to - from)}.`);
  }

  private tell(sentence: string): void {
    this.warn(withPage(sentence, 'troubleshooting#redis-was-unavailable'));
  }
}
