import {
  MOST_MISSED,
  type Blocker,
  type CommonRefusal,
  type EffectOf,
  type Failure,
  type ProtocolTypes,
  type Moment,
} from './protocol-types.js';

/** The error of a timed-out request names its blocker if the server reports it within this many ms. */
const BLOCKER_TIME = 100;
/** Pause before a request asks again for a place that it may still have, ms. */
const RETRY_PAUSE = 100;

/** An action that is due at a time. */
type Reminder<T extends ProtocolTypes> = { readonly at: number } & (
  | { readonly what: 'request place' | 'leave' | 'no blocker'; readonly request: T['place'] }
  | { readonly what: 'acknowledge'; readonly grant: T['grant'] }
);

/**
 * The state of one lock in this client that all protocols share, and the ways in which requests leave the line. Only the state
 * machine changes it, on an event.
 */
export abstract class CommonView<T extends ProtocolTypes> {
  /** The moment of the event that is being handled. */
  now: Moment = { monotonic: 0, wall: 0, order: 0 };
  /** The effects of the event so far. */
  effects: EffectOf<T>[] = [];
  /** The requests in the order of their places. */
  readonly waiting = new Map<T['request'], T['place']>();
  /** How many commands are neither answered nor failed. */
  underWay = 0;
  /** In the order of time. */
  readonly reminders: Reminder<T>[] = [];
  /** The wake-up time that was asked for last. */
  wakeUpAt = Infinity;
  closing = false;

  protected abstract nameOf(request: T['place']): T['request'];

  /** Takes the request out of the line on the server. */
  abstract leave(request: T['place']): void;

  send(command: T['command']): void {
    this.underWay += 1;
    this.effects.push({ type: 'send', command });
  }

  wakeUp(at: number): void {
    if (at !== this.wakeUpAt) this.effects.push({ type: 'wake up', at });
    this.wakeUpAt = at;
  }

  remind(reminder: Reminder<T>): void {
    const { reminders } = this;
    let index = reminders.length;
    while (index > 0 && reminders[index - 1]!.at > reminder.at) index -= 1;
    reminders.splice(index, 0, reminder);
  }

  /** Carries out all actions that are due at the wake-up time. */
  doReminders(requestPlace: (request: T['place']) => void): void {
    this.wakeUpAt = Infinity;
    const later = this.reminders.findIndex(({ at }) => at > this.now.monotonic);
    for (const reminder of this.reminders.splice(0, later < 0 ? this.reminders.length : later)) {
      if (reminder.what === 'acknowledge') this.effects.push({ type: 'released', grant: reminder.grant });
      else if (reminder.what === 'no blocker') this.refuseLate(reminder.request);
      else if (reminder.what === 'leave') this.leaveAgain(reminder.request);
      else requestPlace(reminder.request);
    }
  }

  /** Removes a request that no longer waits. */
  remove(request: T['place']): void {
    this.waiting.delete(this.nameOf(request));
  }

  /** Ends a request without the lock. */
  refuse(request: T['place'], refusal: T['refusal'] | CommonRefusal): void {
    if (request.state !== 'waiting') return;
    request.state = 'refused';
    this.remove(request);
    this.effects.push({ type: 'refuse', request: this.nameOf(request), refusal });
  }

  /** Refuses all requests and takes them out of the line. */
  refuseAll(refusal: T['refusal'] | CommonRefusal): void {
    for (const request of [...this.waiting.values()]) {
      this.refuse(request, refusal);
      this.leave(request);
    }
  }

  /**
   * The command that asks for its place failed for good.
   *
   * @param placed whether it is already in line; then it survives an outage until its wait time ends
   */
  placeRequestFailed(request: T['place'], placed: boolean, failure: Failure): void {
    const { retriable, effect, tooLate, error } = failure;
    request.requesting = false;
    if (request.state !== 'waiting') return;
    if (placed && retriable) return this.requestAfterPause(request);
    if (tooLate && !request.cameTooLate) {
      // This process may have stood still before it sent the command: the request is made once more, at once, so that later ones do not
      // overtake it.
      request.cameTooLate = true;
      return this.remind({ at: this.now.monotonic, what: 'request place', request });
    }
    this.refuse(request, { why: 'error', error });
    if (placed || effect === 'unknown') this.leave(request);
  }

  requestAfterPause(request: T['place']): void {
    this.remind({ at: this.now.monotonic + RETRY_PAUSE, what: 'request place', request });
  }

  /**
   * Its grant was over before this client could enter it.
   *
   * @param fixed whether its lease is fixed; if that is too short, every grant would end too early, so retries are limited
   */
  missedGrant(request: T['place'], fixed: boolean): void {
    const missed = (request.missed += 1);
    if (fixed && missed === MOST_MISSED) this.refuse(request, { why: 'lease too short', missed });
  }

  /** The wait time is over or the caller aborts: from here on the request takes no grant (M4). */
  cancel(name: T['request'], why: 'wait time' | 'abort'): void {
    const request = this.waiting.get(name);
    if (!request) return;
    if (why === 'abort') {
      this.refuse(request, { why });
    } else {
      request.state = 'refused';
      request.awaitingBlocker = true;
      this.remove(request);
      this.remind({ at: this.now.monotonic + BLOCKER_TIME, what: 'no blocker', request });
    }
    this.leave(request);
  }

  /**
   * The request has left the line, or the server must have dropped it because this client was silent.
   *
   * @param order of the command that took it out; undefined: there was no reply
   */
  left(request: T['place'], order: number | undefined, blocker?: Blocker): void {
    if (order !== undefined) request.leftAfter = Math.max(request.leftAfter, order - 1);
    this.refuseLate(request, blocker);
    if (request.state !== 'waiting') this.leaveAfterLateCommands(request);
  }

  /** Refuses a request whose wait time is over, with its blocker if the server reported one. */
  refuseLate(request: T['place'], blocker: Blocker = {}): void {
    if (!request.awaitingBlocker) return;
    request.awaitingBlocker = false;
    const refusal = { why: 'wait time', blocker } as const;
    this.effects.push({ type: 'refuse', request: this.nameOf(request), refusal });
  }

  /** If a copy of the command of an ended request may still run, sends another leave after its deadline (R13). */
  leaveAfterLateCommands(request: T['place']): void {
    const { outcomeUnknownUntil } = request;
    if (outcomeUnknownUntil === 0) return;
    request.outcomeUnknownUntil = 0;
    this.remind({ at: outcomeUnknownUntil, what: 'leave', request });
  }

  /** Sends another leave, because a late copy of the command may have put the request in line. */
  protected leaveAgain(request: T['place']): void {
    this.leave(request);
  }

  /** Sets the time (monotonic ms) until which the caller waits for its release. */
  acknowledgeBy(at: number, grant: T['grant']): void {
    this.remind({ at, what: 'acknowledge', grant });
  }

  /** The release of a grant was answered, or failed for good. */
  acknowledged(grant: T['grant'] | undefined): void {
    const index = this.reminders.findIndex(
      (reminder) => reminder.what === 'acknowledge' && reminder.grant === grant,
    );
    const [reminder] = index < 0 ? [] : this.reminders.splice(index, 1);
    if (reminder?.what === 'acknowledge') this.effects.push({ type: 'released', grant: reminder.grant });
  }

  /** Refuses all requests, also those whose errors wait for their blockers. */
  close(): void {
    this.closing = true;
    for (const reminder of this.reminders) {
      if (reminder.what === 'no blocker') this.refuseLate(reminder.request);
    }
    this.refuseAll({ why: 'closing' });
  }
}
