import type { TimedTask, Timers } from '../runtime/timers.js';

/** One warning for each lock in this time (ms), however many requests trigger it. */
export const PERIOD = 10_000;

interface Period<T> extends TimedTask {
  /** The last request since the warning at its beginning, and how many there were. */
  last?: T;
  unsaid: number;
}

/** Lets one warning about a lock through in ten seconds; the next says how many there were meanwhile. */
export class OncePerPeriod<T> {
  private readonly periods = new Map<string, Period<T>>();

  /** @param say gets the number of those that it does not name; must not throw */
  constructor(
    private readonly timers: Timers,
    private readonly say: (item: T, others: number) => void,
  ) {}

  add(key: string, item: T): void {
    const period = this.periods.get(key);
    if (period) {
      period.unsaid += 1;
      period.last = item;
      return;
    }
    this.begin(key);
    this.say(item, 0);
  }

  /** The next warning about that lock comes when it has ended. */
  private begin(key: string): void {
    const onDue = (): void => {
      this.periods.delete(key);
      if (!period.last) return;
      this.begin(key);
      this.say(period.last, period.unsaid - 1);
    };
    const period: Period<T> = { unsaid: 0, onDue };
    this.periods.set(key, period);
    this.timers.schedule(period, performance.now() + PERIOD);
  }
}

/** How a warning counts the requests that it does not name. */
export function andMore(others: number): string {
  return others === 0 ? '' : ` (and ${others} more since the last such warning)`;
}
