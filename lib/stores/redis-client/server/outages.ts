import { sentenceOf } from '../../../core/errors/errors.js';
import { withPage } from '../../../core/errors/pages.js';
import { duration } from '../../../core/errors/text.js';
import type { CommandFailure } from './server-failure.js';
import { after } from './time-limit.js';

/** At most one line about a failure in this time (ms), however often the server comes and goes. */
const PERIOD = 10_000;
/** A connection that breaks is no outage if another one serves within this time (ms); and an outage ends when nothing has failed for as long. */
const QUIET = 500;

/** A time during which the server does not serve locks. Times are those of the monotonic clock. */
interface Outage {
  readonly from: number;
  failedAt: number;
  /** The last failure; undefined: the server said nothing at startup. */
  failure: CommandFailure | undefined;
  /** When there was a first sign, after the last failure, that it serves. */
  servedAt: number | undefined;
  /** What the log says when it has ended; undefined: it has no line about it. */
  told: 'again' | 'now' | undefined;
}

/**
 * Tells the operator when the server stops serving locks and why, that this goes on, and when it serves them again: when a lock could be taken,
 * for a server that connects or answers need not serve locks, as a read-only replica.
 */
export class Outages {
  private present: Outage | undefined;
  private last = { from: -Infinity, to: -Infinity };
  private toldAt = -Infinity;
  /** Since when the connection is broken. */
  private brokenAt: number | undefined;
  /** Until then, the check at startup warns. */
  private started = false;
  private isTrying = false;

  /** @param tryLock takes a lock that nothing else uses, and gives it back; its failure is reported as that of any command */
  constructor(
    private readonly warn: (message: string) => void,
    private readonly tryLock: () => Promise<unknown>,
  ) {}

  /** Why the server does not serve locks now, as far as is known. */
  get failure(): CommandFailure | undefined {
    return this.present?.failure;
  }

  get isAway(): boolean {
    return this.present !== undefined;
  }

  /** Milliseconds since `moment` in which the server did not serve locks, by the present outage or the last one. */
  lastedSince(moment: number): number {
    const { from, to } = this.present ? { from: this.present.from, to: performance.now() } : this.last;
    return Math.max(0, to - Math.max(from, moment));
  }

  /**
   * The check at startup has ended.
   *
   * @param warned whether it has told that the server did not respond
   */
  start(warned: boolean): void {
    this.started = true;
    this.present = undefined;
    if (!warned) return;
    const time = (this.toldAt = performance.now());
    this.present = { from: time, failedAt: time, failure: undefined, servedAt: undefined, told: 'now' };
  }

  /** The connection broke. */
  broken(): void {
    this.brokenAt ??= performance.now();
  }

  /** There is a connection to the server: what has failed before says nothing of it. */
  connected(): void {
    if (this.present) this.present.failedAt = -Infinity;
    this.served();
  }

  /** A command failed. */
  failed(failure: CommandFailure): void {
    if (failure.failure === 'unreachable' && !this.present) {
      this.broken();
      if (performance.now() - this.brokenAt! < QUIET) return;
    }
    this.notServing(failure);
  }

  /** An attempt to connect failed, or a command did that a new connection would not help. */
  notServing(cause: CommandFailure): void {
    const { failure, error } = cause;
    // The first two concern a single lock.
    if (failure === undefined || failure === 'foreign-type' || !this.started) return;
    const time = performance.now();
    const from = this.present?.from ?? this.brokenAt ?? time;
    const told = this.present?.told;
    const outage: Outage = (this.present = {
      from,
      failedAt: time,
      failure: cause,
      servedAt: undefined,
      told,
    });
    if (time - this.toldAt < PERIOD) return;
    this.toldAt = time;
    const why = sentenceOf(error).replace(/^Redis could not serve the lock: /, '');
    this.tell(
      told
        ? `Redis has not served locks for ${duration(time - from)}: ${why}`
        : `Redis stopped serving locks: ${why} New calls fail with STORE_UNAVAILABLE, queued calls keep waiting, and holders keep their ` +
            'locks until their leases expire. This process keeps trying.',
    );
    outage.told ??= 'again';
  }

  /** A command was answered. */
  served(): void {
    const { present } = this;
    this.brokenAt = undefined;
    if (!present) return;
    const time = performance.now();
    present.servedAt ??= time;
    if (this.isTrying) return;
    this.isTrying = true;
    after(Math.max(0, present.failedAt + QUIET - time), () => void this.endIfServing()).unref();
  }

  private async endIfServing(): Promise<void> {
    const { present } = this;
    const isServing = await this.tryLock().then(
      () => true,
      () => false,
    );
    this.isTrying = false;
    // A failure since then has begun it anew.
    if (isServing && present === this.present) this.end();
  }

  private end(): void {
    const { from, told, servedAt: to = performance.now() } = this.present!;
    this.present = undefined;
    this.last = { from, to };
    if (told) this.tell(`Redis serves locks ${told}, after ${duration(to - from)}.`);
  }

  private tell(sentence: string): void {
    this.warn(withPage(sentence, 'troubleshooting#redis-was-unavailable'));
  }
}
