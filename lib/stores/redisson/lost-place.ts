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
  onWarning(
    `A request for the lock ${quote(key)} (${who}) lost its place after ${Math.round(call.waited)} ms and is at the end of the queue now. ` +
      'Either its deadline in Redis had passed, which is how Redisson recognizes a dead waiter, or Redis lost the queue. A deadline passes ' +
      'if a clock is wrong (NTP), if this process stood still for its whole wait time, or behind waiters in Java. ' +
      'The deadlines are explained in nestjs-fair-lock/docs/redisson.md#deadlines-why-the-order-can-change.',
  );
}
