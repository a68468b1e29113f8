import type { Moment } from '../../redis-client/line-machine.js';
import type { Reminder } from '../../redis-client/line-state.js';
import type { Effect, LineEvent, NativeTypes } from './events.js';
import { applyMessage, endSection, giveBack, leaseLost, lookAtLease, revoke } from './grant.js';
import { beatIfDue, beatNow, nextWakeUp } from './heartbeat.js';
import { answered, failed, written } from './replies.js';
import * as requests from './requests.js';
import type { Line } from './state.js';

/**
 * One lock as this client sees it: its requests in line, the grant it holds, and the heartbeat for both. Something happens
 * to the line at a moment; what is to be done about it is returned, in order.
 *
 * Nothing depends on which replies and messages arrive, in which order, or how often (R9).
 */
export function handle(line: Line, event: LineEvent, now: Moment): readonly Effect[] {
  line.now = now;
  line.effects = [];
  // A section that has ended gave its lease back at an earlier instant.
  if (event.type !== 'section ended') lookAtLease(line);
  apply(line, event);
  arrange(line);
  return line.effects;
}

function apply(line: Line, event: LineEvent): void {
  switch (event.type) {
    case 'requested':
      return requests.request(line, event.request);
    case 'turn ended':
      return requests.admitNewcomers(line);
    case 'cancelled':
      return line.cancel(event.request, event.why);
    case 'section ended':
      return endSection(line, event.grant, event.kept);
    case 'lease lost':
      return leaseLost(line, event.grant);
    case 'renewing stopped':
      return stopRenewing(line, event.grant);
    case 'reply':
      line.underWay -= 1;
      return answered(line, event.command, event.reply);
    case 'failed':
      line.underWay -= 1;
      return failed(line, event.command, event.failure);
    case 'written':
      return written(line, event.command, event.reply);
    case 'granted':
      return applyMessage(line, event.grant);
    case 'revoked':
      return revoke(line, event.first);
    case 'subscription':
      line.subscribedSince = event.upSince;
      return beatNow(line);
    case 'look':
      return beatNow(line);
    case 'server':
      return keptBy(line, event.id);
    case 'due':
      return due(line);
    case 'refused':
      return line.refuseAll({ why: 'error', error: event.error });
    case 'closing':
      line.close();
      return giveBack(line);
  }
}

function stopRenewing(line: Line, token: number): void {
  if (line.run?.holder?.token === token) line.run.holder.renewable = false;
}

/** Another server process may not have the waiters of its predecessor (M6). */
function keptBy(line: Line, server: string | undefined): void {
  if (server === undefined || server === line.server) return;
  line.server = server;
  line.markedAliveAt = -Infinity;
  requests.requestAllAgain(line);
  beatNow(line);
}

function due(line: Line): void {
  line.wakeUpAt = Infinity;
  for (const reminder of line.dueReminders()) remembered(line, reminder);
  beatIfDue(line);
}

function remembered(line: Line, reminder: Reminder<NativeTypes>): void {
  switch (reminder.what) {
    case 'request place':
      return requests.requestPlace(line, reminder.request);
    case 'leave':
      return line.leave(reminder.request);
    case 'last words':
      return line.refuseLate(reminder.request);
    case 'acknowledge':
      line.effects.push({ type: 'released', grant: reminder.grant });
  }
}

/** Sets the wake-up time; forgets the line if nothing is left of it. */
function arrange(line: Line): void {
  const at = nextWakeUp(line);
  line.wakeUp(at);
  if (line.underWay > 0 || line.waiting.size > 0) return;
  if (line.closing && !line.reminders.some(({ what }) => what === 'leave')) {
    line.effects.push({ type: 'closed' });
  } else if (at === Infinity) {
    line.effects.push({ type: 'forget' });
  }
}
