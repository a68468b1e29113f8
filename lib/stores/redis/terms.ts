import type { CommandConnection } from '../redis-client/command-connection.js';
import type { Subscriber } from '../redis-client/subscriber.js';
import type { Timing } from './timing.js';

/** How long the hash of a grant that nobody released outlives its lease, ms; the same as in scripts/includes/state.lua. */
export const RETENTION = 60_000;

/** For so many ms a client tells the same of itself; the scripts tolerate more (half of the grace). */
const LIFE = 20;

/**
 * What a client tells of itself with every command: the first lease of a grant that it passes on, which server carries its
 * subscription, for how long, who it is, and its times.
 */
export class Terms {
  private readonly firstLease: string;
  private readonly settings: string;
  private text = '';
  private madeAt = -Infinity;
  /** What the text was made of. */
  private upSince: number | undefined;
  private heardBy: string | undefined;
  private answeredBy: string | undefined;

  constructor(
    private readonly subscriber: Subscriber,
    private readonly commands: CommandConnection,
    { window, lease, grace, maxRun, rest }: Timing,
    /** host/pid, without white space */
    where: string,
  ) {
    // A waiter that died just before its turn blocks for a window at most; its first renewal makes the lease whole.
    const first = Math.round(Math.min(window, lease));
    this.firstLease = `${first} ${first + RETENTION}`;
    this.settings = `${where} ${Math.round(window)} ${grace} ${maxRun} ${rest}`;
  }

  /** @param time now, on the monotonic clock */
  at(time: number): string {
    const { upSince, serverRunId: heardBy } = this.subscriber;
    const { serverRunId: answeredBy } = this.commands;
    const same = upSince === this.upSince && heardBy === this.heardBy && answeredBy === this.answeredBy;
    if (same && time - this.madeAt < LIFE) return this.text;
    const heard = upSince !== undefined && heardBy !== undefined && heardBy === answeredBy;
    const hears = heard ? `${heardBy} ${Math.floor(time - upSince)}` : '- 0';
    this.text = `${this.firstLease} ${hears} ${this.settings}`;
    this.madeAt = time;
    this.upSince = upSince;
    this.heardBy = heardBy;
    this.answeredBy = answeredBy;
    return this.text;
  }
}
