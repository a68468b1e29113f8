import type { Instant } from '../../../core/clock.js';
import type { Timing } from '../timing.js';
import type { Moment } from '../../redis-client/line-machine.js';
import type { Command, Effect, NewRequest } from './events.js';

/** One request, with what this client knows of its place. */
export interface PlaceRequest extends NewRequest {
  /** When it came (monotonic ms). */
  readonly arrivedAt: number;
  state: 'waiting' | 'granted' | 'refused';
  /** Acknowledged in line at least once. */
  placed: boolean;
  /** How many of its grants were over before their replies came. */
  missed: number;
  /** Its grant was taken by force before the reply with the grant was applied. */
  forced: boolean;
  /** Whether its channel is, or will be, subscribed. */
  subscribed: boolean;
  /** Whether an acquire is under way, and whether something happened since that calls for another. */
  requesting: boolean;
  requestAgain: boolean;
  /** The last command before its last acquire, and the last of its acquires that was answered. */
  confirmAfter: number;
  answered: number;
  /** The last command before its last leave. */
  leftAfter: number;
  /** Until then (monotonic ms) a copy of its command may still run (R13); 0: surely none. */
  outcomeUnknownUntil: number;
  /** The refusal of an ended wait is delayed until the server reports its blocker. */
  lastWords: boolean;
}

/** The grant of a request, as long as it counts. */
export interface ActiveGrant {
  readonly id: string;
  readonly who: string;
  readonly grantedAt: number;
  readonly leaseTime: number;
  /** Taken off the lease on this side (R12). */
  readonly margin: number;
  /** From when `left` counts (M1); margin taken off. */
  since: Instant;
  left: number;
  /** Infinity: it is not renewed. */
  nextRenewal: number;
  renewing: boolean;
}

/** A command under way, with what its reply is about. */
export type UnderWay =
  | { readonly kind: 'acquire'; readonly request: PlaceRequest; readonly deadline: number }
  /** `asks`: the request asks anew after it. */
  | { readonly kind: 'leave'; readonly request: PlaceRequest; readonly requestsAgain: boolean }
  | { readonly kind: 'release'; readonly id: string }
  | { readonly kind: 'renew'; readonly grant: ActiveGrant };

/** Something to do at a time. */
export type Reminder = { readonly at: number } & (
  | { readonly what: 'request place' | 'leave' | 'last words'; readonly request: PlaceRequest }
  | { readonly what: 'acknowledge'; readonly id: string }
);

/** One lock as this client sees it. Plain data: only the functions beside this file change it, on an event. */
export interface Line {
  readonly timing: Timing;
  /** Of the event that is being handled. */
  now: Moment;
  /** What the event has led to so far. */
  effects: Effect[];
  /** In the order of their places. */
  readonly waiting: Map<string, PlaceRequest>;
  readonly grants: Map<string, ActiveGrant>;
  /** The lease times of grants whose sections run, lost ones too. */
  readonly sections: Map<string, number>;
  /** A request that was sent with this command, or a later one, has a confirmed place. */
  checkedOrder: number;
  /** When the first in line asks although nothing was received. */
  nextLook: number;
  /** How often in a row the lock was found free, waiting for a head that is not of this client. */
  freeLooks: number;
  /** How many commands are neither answered nor failed. */
  underWay: number;
  reminders: Reminder[];
  /** The wake-up time that was asked for last. */
  wakeUpAt: number;
  closing: boolean;
}

export function newLine(timing: Timing): Line {
  return {
    timing,
    now: { monotonic: 0, wall: 0, order: 0 },
    effects: [],
    waiting: new Map(),
    grants: new Map(),
    sections: new Map(),
    checkedOrder: 0,
    nextLook: Infinity,
    freeLooks: 0,
    underWay: 0,
    reminders: [],
    wakeUpAt: Infinity,
    closing: false,
  };
}

/** Sends a command; `about` comes back with its reply. */
export function send(line: Line, command: Command, about: UnderWay): void {
  line.underWay += 1;
  line.effects.push({ type: 'send', command, about });
}

export function remind(line: Line, reminder: Reminder): void {
  line.reminders.push(reminder);
}

/** The first in line asks within `delay` ms, and within the time of a look in any case. */
export function lookWithin(line: Line, delay: number): void {
  const due = line.now.monotonic + Math.min(delay, line.timing.look);
  line.nextLook = Math.min(line.nextLook, due);
}
