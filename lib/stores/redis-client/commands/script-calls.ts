import { now, type Instant } from '../../../core/port/lease.js';
import type { Retry, RetryRule } from './retry.js';
import type { Overdue } from './script.js';

/** How a command was sent that was answered. */
export interface Sent {
  /** When the answered copy was sent: a lease that the reply names counts from there. */
  readonly sentAt: Instant;
  /** How many copies were sent. Of several, those without a response may still run. */
  readonly copies: number;
}

/**
 * Sends a command until it is answered or `until` (monotonic ms) has passed, as `Retry.until` does.
 *
 * @param send sends one copy; the command must be idempotent
 * @param read makes the result from the reply
 * @throws CommandFailure if the server does not respond in time, or repeating cannot mend the failure
 */
export async function untilAnswered<T>(
  retry: Retry,
  send: (overdue: Overdue) => Promise<unknown>,
  until: number,
  read: (answer: unknown, sent: Sent) => T,
  rule?: RetryRule,
): Promise<T> {
  const sent = { sentAt: now(), copies: 0 };
  const copy = (overdue: Overdue): Promise<unknown> => {
    sent.sentAt = now();
    sent.copies += 1;
    return send(overdue);
  };
  return read(await retry.until(copy, until, rule), sent);
}
