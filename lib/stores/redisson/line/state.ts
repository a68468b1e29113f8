import type { Timing } from '../timing.js';
import type { Moment } from '../../redis-client/line-machine.js';
import type { Command, Effect } from './events.js';
import type { ActiveGrant, PlaceRequest } from './model.js';

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

export function send(line: Line, command: Command): void {
  line.underWay += 1;
  line.effects.push({ type: 'send', command });
}

export function remind(line: Line, reminder: Reminder): void {
  line.reminders.push(reminder);
}

/** The first in line asks within `delay` ms, and within the time of a look in any case. */
export function lookWithin(line: Line, delay: number): void {
  const due = line.now.monotonic + Math.min(delay, line.timing.look);
  line.nextLook = Math.min(line.nextLook, due);
}
