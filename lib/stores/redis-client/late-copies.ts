import type { Retry } from './retry.js';
import type { PendingRequest } from './pending-request.js';

/** Whatever must not be forgotten while work for a request goes on. */
interface Line {
  busy<T>(work: () => Promise<T>): Promise<T>;
}

/** A request that is over while a copy of its command may still run is taken out of the line after that (R13). */
export function takeOutLateCopies(
  waiter: PendingRequest,
  line: Line,
  retry: Retry,
  takeOut: () => Promise<unknown>,
): void {
  if (waiter.unsureUntil === 0) return;
  const wait = waiter.unsureUntil - performance.now();
  waiter.unsureUntil = 0;
  void line.busy(async () => {
    await retry.delay(wait);
    await takeOut();
  });
}
