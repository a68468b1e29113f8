import { now, type Instant } from '../../../core/port/lease.js';
import type { Retry, RetryRule } from './retry.js';

/** How a command was sent that was answered. */
export interface Sent {
  /** When the answered copy was sent: a lease that the reply names counts from there. */
  readonly sentAt: Instant;
  /** How many copies were sent. Of several, those without a response may still run. */
  readonly copies: number;
}

/**
 * Sends a command, and repeats it until it is answered or `until` (monotonic ms) has passed.
 *
 * @param send sends one copy; the command must be idempotent
 * @param read makes the result from the reply
 * @throws CommandFailure if the server does not respond in time, or repeating cannot mend the failure
 */
export function untilAnswered<T>(
  retry: Retry,
  send: () => Promise<unknown>,
  until: number,
  read: (answer: unknown, sent: Sent) => T,
  rule?: RetryRule,
): Promise<T> {
  const sent = { sentAt: now(), copies: 1 };
  const again = (): Promise<unknown> => {
    sent.sentAt = now();
    sent.copies += 1;
    return send();
  };
  // Not async, and one `then`: each promise of the way of a free lock is paid for by every request.
  const answered = (answer: unknown): T => read(answer, sent);
  return send().then(answered, (error: unknown) => retry.after(error, again, until, rule).then(answered));
}
