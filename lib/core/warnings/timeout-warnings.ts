import type { LockTimeoutError } from '../errors/errors.js';
import type { EngineDefaults } from '../options/acquire-options.js';
import type { Call } from '../waits/call.js';

/** One warning for each lock in this time (ms), however many requests give up. */
const PERIOD = 10_000;
/** For how many locks the last warning is remembered. */
const MOST_LOCKS = 1_000;

/** Warns an operator of requests that gave up before they counted as slow, so that no line loses them silently. */
export class TimeoutWarnings {
  private readonly last = new Map<string, { readonly at: number; unsaid: number }>();

  constructor(private readonly warn: EngineDefaults['onWarning']) {}

  /** Must not throw. A try that finds the lock busy did not wait: it is part of normal operation. */
  readonly of = ({ warned, options }: Call, error: LockTimeoutError): void => {
    if (warned || error.waitTime === 0) return;
    const { key, waitTime, blockedBy } = error;
    const at = performance.now();
    const last = this.last.get(key);
    if (last && at - last.at < PERIOD) {
      last.unsaid += 1;
      return;
    }
    if (this.last.size >= MOST_LOCKS) this.last.clear();
    this.last.set(key, { at, unsaid: 0 });
    const unsaid = last?.unsaid ?? 0;
    const more = unsaid === 0 ? '' : ` (and ${unsaid} more since the last such warning)`;
    this.warn(`${error.code}${more}: ${error.details}`, {
      key,
      label: options.label,
      waitTime,
      unsaid,
      ...blockedBy,
    });
  };
}
