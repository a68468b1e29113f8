import { LockTimeoutError } from '../errors/errors.js';
import type { EngineDefaults } from '../options/acquire-options.js';
import type { TimedTask, Timers } from '../runtime/timers.js';
import type { Call } from '../waits/call.js';

/** One warning for each lock in this time (ms), however many requests give up. */
const PERIOD = 10_000;

/** What a look at a lock found of its holder, if that has no process any more. */
export type LookForGone = (
  key: string,
) => Promise<{ readonly holder: string; readonly leaseLeft: number } | undefined>;

interface GivenUp {
  readonly label: string;
  readonly error: LockTimeoutError;
}

interface Period extends TimedTask {
  /** The last request that gave up since the warning at its beginning, and how many did. */
  last?: GivenUp;
  unsaid: number;
}

/** Warns an operator of requests that gave up, so that no queue loses them silently. */
export class TimeoutWarnings {
  private readonly periods = new Map<string, Period>();

  constructor(
    private readonly timers: Timers,
    private readonly look: LookForGone,
    private readonly warn: EngineDefaults['onWarning'],
  ) {}

  /** Must not throw. A try that finds the lock busy did not wait: it is part of normal operation. */
  readonly of = ({ options: { label } }: Call, error: LockTimeoutError): void => {
    if (error.waitTime === 0) return;
    const given = { label, error };
    const period = this.periods.get(error.key);
    if (period) {
      period.unsaid += 1;
      period.last = given;
      return;
    }
    this.begin(error.key);
    void this.say(given, 0);
  };

  /** The next warning about that lock comes when it has ended. */
  private begin(key: string): void {
    const onDue = (): void => {
      this.periods.delete(key);
      if (!period.last) return;
      this.begin(key);
      void this.say(period.last, period.unsaid - 1);
    };
    const period: Period = { unsaid: 0, onDue };
    this.periods.set(key, period);
    this.timers.schedule(period, performance.now() + PERIOD);
  }

  private async say({ label, error }: GivenUp, others: number): Promise<void> {
    const { key, waitTime, blockedBy, code } = error;
    const gone = blockedBy.holder !== undefined && !blockedBy.leaseLeft ? await this.look(key) : undefined;
    const known =
      gone?.holder !== undefined && gone.holder === blockedBy.holder
        ? { ...blockedBy, leaseLeft: gone.leaseLeft }
        : blockedBy;
    const { details } = new LockTimeoutError(key, waitTime, known);
    const more = others === 0 ? '' : ` (and ${others} more since the last such warning)`;
    this.warn(`${code}${more}: ${details}`, { key, label, waitTime, unsaid: others, ...known });
  }
}
