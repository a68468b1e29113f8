import type { AcquireReply, LeaveReply, ReleaseReply, RenewReply } from '../commands/reply.js';
import type { Failure, Moment } from '../../redis-client/line/line-machine.js';
import type { Command, Effect, LineEvent, Reply } from './events.js';
import * as grants from './grants.js';
import * as requests from './requests.js';
import type { Line } from './state.js';

/**
 * The state machine of one lock in this client: its requests in line and its grants. Applies an event at a moment, and returns the
 * effects to execute, in order.
 *
 * A message is only a hint to ask again (R9). The first of this client's requests also asks when the holder's lease should end, and
 * every few seconds, so that the line goes on even if all messages are lost.
 */
export function handle(line: Line, event: LineEvent, now: Moment): readonly Effect[] {
  line.now = now;
  line.effects = [];
  // The section released its lease before this event, so the lease is not checked then.
  if (event.type !== 'section ended') grants.lookAtLeases(line);
  apply(line, event);
  arrange(line);
  return line.effects;
}

function apply(line: Line, event: LineEvent): void {
  switch (event.type) {
    case 'requested':
      return requests.request(line, event.request);
    case 'cancelled':
      return line.cancel(event.request, event.why);
    case 'section ended':
      return grants.endSection(line, event.grant, event.kept ? event.keep : undefined);
    case 'lease lost':
      return grants.leaseLost(line, event.grant);
    case 'renewing stopped':
      return grants.stopRenewing(line, event.grant);
    case 'reply':
      line.underWay -= 1;
      return answered(line, event.command, event.reply);
    case 'failed':
      line.underWay -= 1;
      return failed(line, event.command, event.failure);
    case 'woken':
      return requests.requestPlace(line, line.waiting.get(event.id));
    case 'subscribed':
      return requests.subscribed(line, event.id);
    case 'forced':
      return grants.forced(line, event.id);
    case 'look':
      grants.renewNow(line);
      return requests.requestForFirst(line);
    case 'due':
      return due(line);
    case 'closing':
      line.close();
      return grants.giveBack(line);
  }
}

function answered(line: Line, command: Command, reply: Reply): void {
  switch (command.kind) {
    case 'acquire':
      return requests.applyReply(line, command.request, reply as AcquireReply, command.deadline);
    case 'leave': {
      const { order, woken, holder, ahead, left } = reply as LeaveReply;
      const blocker = line.blocker(holder, left);
      line.left(command.request, order, { ...blocker, ...(ahead !== undefined && { ahead }) });
      wake(line, woken);
      if (command.requestsAgain) requests.requestPlace(line, command.request);
      return;
    }
    case 'release':
      line.acknowledged(command.id);
      return wake(line, (reply as ReleaseReply).woken);
    case 'renew':
      return grants.applyRenewal(line, command.grant, reply as RenewReply);
  }
}

function failed(line: Line, command: Command, failure: Failure): void {
  switch (command.kind) {
    case 'acquire':
      return requests.placeRequestFailed(line, command.request, failure, command.deadline);
    case 'leave':
      line.left(command.request, undefined);
      if (command.requestsAgain) requests.requestPlace(line, command.request);
      return;
    case 'release':
      line.acknowledged(command.id);
      // The release failed, so the lock becomes free when the lease ends.
      return line.lookWithin(0);
    case 'renew':
      return grants.renewalFailed(line, command.grant, failure.retryAfter);
  }
}

/** A script has woken the head of the line. A request of this client asks at once, without waiting for the message. */
function wake(line: Line, woken: string | undefined): void {
  if (woken !== undefined) requests.requestPlace(line, line.waiting.get(woken));
}

function due(line: Line): void {
  const { monotonic } = line.now;
  line.doReminders((request) => requests.requestPlace(line, request));
  grants.renewIfDue(line);
  if (line.nextLook > monotonic) return;
  line.nextLook = Infinity;
  requests.requestForFirst(line);
  line.lookWithin(Infinity);
}

/** Sets the wake-up time; forgets the line if nothing is left of it. */
function arrange(line: Line): void {
  line.wakeUp(nextWakeUp(line));
  if (line.underWay > 0) return;
  if (line.closing) line.effects.push({ type: 'closed' });
  else if (line.waiting.size + line.grants.size + line.reminders.length === 0) {
    line.effects.push({ type: 'forget' });
  }
}

function nextWakeUp(line: Line): number {
  let at = Math.min(line.reminders[0]?.at ?? Infinity, line.waiting.size > 0 ? line.nextLook : Infinity);
  for (const { since, left: leaseLeft, renewing, nextRenewal } of line.grants.values()) {
    at = Math.min(at, since.monotonic + leaseLeft, renewing ? Infinity : nextRenewal);
  }
  return at;
}
