import { now, type Instant } from '../../../core/port/lease.js';
import type { Retry, RetryRule } from './retry.js';
import { toCommandFailure } from '../server/server-failure.js';
import type { Overdue } from './script.js';

/** How a command was sent that was answered. */
export interface Sent {
  /** When the answered copy was sent: a lease that the reply names counts from there. */
  readonly sentAt: Instant;
  /** Whether an earlier copy got no response: it may have run, or may still do so. */
  readonly unanswered: boolean;
}

/**
 * Sends a command until it is answered or `until` (monotonic ms) has passed, as `Retry.until` does.
 *
 * @param send sends one copy; the command must be idempotent
 * @param read makes the result from the reply
 * @throws CommandFailure if the server does not respond in time, or repeating cannot mend the failure
 */
export async function untilAnswered<Answer, T>(
  retry: Retry,
  send: (overdue: Overdue) => Promise<Answer>,
  until: number,
  read: (answer: Answer, sent: Sent) => T,
  rule?: RetryRule,
): Promise<T> {
  const sent = { sentAt: now(), unanswered: false };
  const copy = async (overdue: Overdue): Promise<Answer> => {
    sent.sentAt = now();
    try {
      return await send(overdue);
    } catch (error) {
      sent.unanswered ||= toCommandFailure(error).effect === 'unknown';
      throw error;
    }
  };
  return read(await retry.until(copy, until, rule), sent);
}
