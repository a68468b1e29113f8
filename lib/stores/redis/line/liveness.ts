import type { HeartbeatArgs, Renewal } from '../commands/arguments.js';
import type { LockReply } from '../commands/reply.js';
import { oldestKnown } from './requests.js';
import { WAKE_PLACES, WAKE_SPREAD, type Line } from './state.js';

/** A command has marked this client alive and waiting on the server. */
export function markedAlive(line: Line, { sentAt }: LockReply): void {
  line.markedAliveAt = Math.max(line.markedAliveAt, sentAt.monotonic);
}

/** Whether a release should do the same (R5): not if Redis knows it already, under the very subscription that stands. */
export function markAliveWithRelease(line: Line): boolean {
  if (line.waiting.size === 0) return false;
  const { subscribedSince, markedAliveAt, now, settings } = line;
  const known = subscribedSince !== undefined && subscribedSince <= markedAliveAt;
  return !known || now.monotonic - markedAliveAt > settings.timing.heartbeat / 2;
}

/** The first in line looks after an ended lease at once, those behind a little later, in case it does not. */
export function queuedBehind(line: Line, ahead: number): void {
  line.wakeSpread = Math.min(line.wakeSpread, Math.min(ahead, WAKE_PLACES) * WAKE_SPREAD);
}

/** What a heartbeat contains: what it renews, and what this client waits for. */
export function heartbeatArgs(line: Line, renewal: Renewal): Omit<HeartbeatArgs, 'ping'> {
  if (line.waiting.size === 0) return { renewal, waiting: undefined };
  const { sequence, leaseTime } = oldestKnown(line) ?? {};
  return { renewal, waiting: { oldest: sequence === undefined ? undefined : { sequence, leaseTime } } };
}
