import type { AcquireReply, LeaveReply, ReleaseReply, RenewReply } from '../commands/reply.js';
import type { Failure, Moment } from '../../redis-client/view/protocol-types.js';
import type { Command, Effect, ViewEvent, Reply } from './events.js';
import * as grants from './grants.js';
import * as requests from './requests.js';
import type { LockView } from './lock-view.js';

/**
 * The state machine of one lock in this client: its requests in line and its grants. Applies an event at a moment, and returns the
 * effects to execute, in order.
 *
 * A message is only a hint to ask again (R9). The first of this client's requests also asks when the holder's lease should end, and
 * every few seconds, so that the line goes on even if all messages are lost.
 */
export function handle(view: LockView, event: ViewEvent, now: Moment): readonly Effect[] {
  view.now = now;
  view.effects = [];
  // The section released its lease before this event, so the lease is not checked then.
  if (event.type !== 'section ended') grants.lookAtLeases(view);
  apply(view, event);
  arrange(view);
  return view.effects;
}

function apply(view: LockView, event: ViewEvent): void {
  switch (event.type) {
    case 'requested':
      return requests.request(view, event.request);
    case 'cancelled':
      return view.cancel(event.request, event.why);
    case 'section ended':
      return grants.endSection(view, event.grant, event.kept ? event.keep : undefined);
    case 'lease lost':
      return grants.leaseLost(view, event.grant);
    case 'renewing stopped':
      return grants.stopRenewing(view, event.grant);
    case 'reply':
      view.underWay -= 1;
      return answered(view, event.command, event.reply);
    case 'failed':
      view.underWay -= 1;
      return failed(view, event.command, event.failure);
    case 'woken':
      return requests.requestPlace(view, view.waiting.get(event.id));
    case 'subscribed':
      return requests.subscribed(view, event.id);
    case 'forced':
      return grants.forced(view, event.id);
    case 'look':
      grants.renewNow(view);
      return requests.requestForFirst(view);
    case 'due':
      return due(view);
    case 'closing':
      view.close();
      return grants.giveBack(view);
  }
}

function answered(view: LockView, command: Command, reply: Reply): void {
  switch (command.kind) {
    case 'acquire':
      return requests.applyReply(view, command.request, reply as AcquireReply, command.deadline);
    case 'leave': {
      const { order, woken, holder, ahead, left } = reply as LeaveReply;
      const blocker = view.blocker(holder, left);
      view.left(command.request, order, { ...blocker, ...(ahead !== undefined && { ahead }) });
      wake(view, woken);
      if (command.requestsAgain) requests.requestPlace(view, command.request);
      return;
    }
    case 'release':
      view.acknowledged(command.id);
      return wake(view, (reply as ReleaseReply).woken);
    case 'renew':
      return grants.applyRenewal(view, command.grant, reply as RenewReply);
  }
}

function failed(view: LockView, command: Command, failure: Failure): void {
  switch (command.kind) {
    case 'acquire':
      return requests.placeRequestFailed(view, command.request, failure, command.deadline);
    case 'leave':
      view.left(command.request, undefined);
      if (command.requestsAgain) requests.requestPlace(view, command.request);
      return;
    case 'release':
      view.acknowledged(command.id);
      // The release failed, so the lock becomes free when the lease ends.
      return view.lookWithin(0);
    case 'renew':
      return grants.renewalFailed(view, command.grant, failure.retryAfter);
  }
}

/** A script has woken the head of the line. A request of this client asks at once, without waiting for the message. */
function wake(view: LockView, woken: string | undefined): void {
  if (woken !== undefined) requests.requestPlace(view, view.waiting.get(woken));
}

function due(view: LockView): void {
  const { monotonic } = view.now;
  view.doReminders((request) => requests.requestPlace(view, request));
  grants.renewIfDue(view);
  if (view.nextLook > monotonic) return;
  view.nextLook = Infinity;
  requests.requestForFirst(view);
  view.lookWithin(Infinity);
}

/** Sets the wake-up time; forgets the view if nothing is left of it. */
function arrange(view: LockView): void {
  view.wakeUp(nextWakeUp(view));
  if (view.underWay > 0) return;
  if (view.closing) view.effects.push({ type: 'closed' });
  else if (view.waiting.size + view.grants.size + view.reminders.length === 0) {
    view.effects.push({ type: 'forget' });
  }
}

function nextWakeUp(view: LockView): number {
  let at = Math.min(view.reminders[0]?.at ?? Infinity, view.waiting.size > 0 ? view.nextLook : Infinity);
  for (const { since, left: leaseLeft, renewing, nextRenewal } of view.grants.values()) {
    at = Math.min(at, since.monotonic + leaseLeft, renewing ? Infinity : nextRenewal);
  }
  return at;
}
