import { emit } from '../../core/diagnostics/diagnostics.js';
import { quote } from '../../core/errors/text.js';
import type { RedissonRequest } from './request.js';

/** Tells an operator that the request stands at the end of the queue now. */
export function warnOfLostPlace(
  key: string,
  { call, who }: RedissonRequest,
  onWarning: (message: string) => void,
): void {
  emit({ type: 'passed-over', key });
  const advice =
    call.waitTime === Infinity
      ? 'a waiter without a waitTime is dropped when a lock is held for longer than fairLockWaitTimeout: raise it here and in Java. '
      : 'longer wait times make this rarer. ';
  onWarning(
    `A request for the lock ${quote(key)} (${who}) lost its place after ${Math.round(call.waited)} ms and is at the end of the queue now. ` +
      'Either its deadline in Redis had passed, which is how Redisson recognizes a dead waiter, or Redis lost the queue. If it was the ' +
      `deadline: ${advice}If Java clients take most of the grants, deadlines fall behind; and the clocks of all hosts must agree (NTP). ` +
      'The deadlines are explained in nestjs-fair-lock/docs/redisson.md#deadlines-why-the-order-can-change.',
  );
}
