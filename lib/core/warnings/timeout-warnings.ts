import { LockTimeoutError } from '../errors/errors.js';
import type { EngineDefaults } from '../options/acquire-options.js';
import type { Timers } from '../runtime/timers.js';
import type { Call } from '../waits/call.js';
import { andMore, OncePerPeriod } from './once-per-period.js';

/** What a look at a lock found of its holder, if that has no process any more. */
export type LookForGone = (
  key: string,
) => Promise<{ readonly holder: string; readonly leaseLeft: number } | undefined>;

interface GivenUp {
  readonly label: string;
  readonly error: LockTimeoutError;
}

/** Warns an operator of requests that gave up, so that no queue loses them silently. */
export class TimeoutWarnings {
  private readonly warnings: OncePerPeriod<GivenUp>;

  constructor(
    timers: Timers,
    private readonly look: LookForGone,
    private readonly warn: EngineDefaults['onWarning'],
  ) {
    this.warnings = new OncePerPeriod(timers, (given, others) => void this.say(given, others));
  }

  /** Must not throw. A try that finds the lock busy did not wait: it is part of normal operation. */
  readonly of = ({ options: { label } }: Call, error: LockTimeoutError): void => {
    if (error.waitTime > 0) this.warnings.add(error.key, { label, error });
  };

  private async say({ label, error }: GivenUp, others: number): Promise<void> {
    const { key, waitTime, blockedBy, code } = error;
    const gone = blockedBy.holder !== undefined && !blockedBy.leaseLeft ? await this.look(key) : undefined;
    const known =
      gone?.holder !== undefined && gone.holder === blockedBy.holder
        ? { ...blockedBy, leaseLeft: gone.leaseLeft }
        : blockedBy;
    const { details } = new LockTimeoutError(key, waitTime, known);
    this.warn(`${code}${andMore(others)}: ${details}`, { key, label, waitTime, unsaid: others, ...known });
  }
}
