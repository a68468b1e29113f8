import type { PresentGrant } from '../commands/reply.js';
import type { Timing } from '../timing.js';
import type { Moment } from '../../redis-client/line-machine.js';
import type { Command, Effect } from './events.js';
import type { PlaceRequest, Run } from './model.js';

/** Something to do at a time. */
export type Reminder = { readonly at: number } & (
  | { readonly what: 'request place' | 'leave' | 'last words'; readonly request: PlaceRequest }
  | { readonly what: 'acknowledge'; readonly token: number }
);

export interface LineSettings {
  readonly timing: Timing;
  /** A grant or a renewal counts only when replicas have it (docs/replication.md). */
  readonly replicated: boolean;
}

/** One lock as this client sees it. Plain data: only the functions beside this file change it, on an event. */
export interface Line {
  readonly settings: LineSettings;
  /** Of the event that is being handled. */
  now: Moment;
  /** What the event has led to so far. */
  effects: Effect[];

  // ---- the requests (requests.ts)
  /** In the order of their sequences. */
  readonly waiting: Map<number, PlaceRequest>;
  /** Those of this turn of the event loop, which ask together at its end. */
  newcomers: PlaceRequest[];
  /** The client's generation in the last reply of Redis (M5). */
  generation: number;

  // ---- the grant (grant.ts)
  /** The highest token that this client had seen when the line was made: every request of the line asks for a higher one. */
  readonly seenBefore: number;
  /** The run whose member holds the lock. */
  run: Run | undefined;
  /** A grant that not enough replicas are known to have yet: it is not held. */
  confirming: Run | undefined;
  /** A grant that came too late to be entered; the reply to a heartbeat that names it decides (M1). */
  late: PresentGrant | undefined;
  /** A grant that was lost while its section still runs, until the server, too, must have ended it (monotonic ms). */
  lapsing: { readonly run: Run; readonly until: number } | undefined;
  /** Grants up to this first token are over for this client (M8). */
  finished: number;
  /** How many releases are not yet acknowledged, and the last command before the last of them. */
  releasing: number;
  releasedAfter: number;

  // ---- the heartbeat (heartbeat.ts)
  /** The newest command whose reply was applied: an older one is outdated. */
  newest: number;
  /** 0: not needed yet. */
  nextBeat: number;
  beating: boolean;
  /** When the lease of the present holder must have ended, as far as is known. */
  wakeAt: number;
  /** ms after that time at which this client asks. */
  wakeSpread: number;
  /** The lock is free although requests wait: this client has to ask at `wakeAt` (R8). */
  mustRetry: boolean;
  /** When the last command was sent that marked this client alive in line. */
  markedAliveAt: number;
  subscribedSince: number | undefined;
  /** Which server process keeps the lock, as far as it is known. */
  server: string | undefined;

  // ---- what is under way
  /** How many commands are neither answered nor failed. */
  underWay: number;
  /** In the order of time. */
  readonly reminders: Reminder[];
  /** The wake-up time that was asked for last. */
  wakeUpAt: number;
  closing: boolean;
}

/** Neighbours in line look after an ended lease one after the other: ms between them, and for how many. */
export const WAKE_SPREAD = 5;
export const WAKE_PLACES = 20;

export function newLine(
  settings: LineSettings,
  server: string | undefined,
  subscribedSince: number | undefined,
  seenBefore: number,
): Line {
  return {
    settings,
    now: { monotonic: 0, wall: 0, order: 0 },
    effects: [],
    waiting: new Map(),
    newcomers: [],
    generation: 0,
    seenBefore,
    run: undefined,
    confirming: undefined,
    late: undefined,
    lapsing: undefined,
    finished: 0,
    releasing: 0,
    releasedAfter: 0,
    newest: 0,
    nextBeat: 0,
    beating: false,
    wakeAt: Infinity,
    wakeSpread: WAKE_PLACES * WAKE_SPREAD,
    mustRetry: false,
    markedAliveAt: -Infinity,
    subscribedSince,
    server,
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
  const { reminders } = line;
  let index = reminders.length;
  while (index > 0 && reminders[index - 1]!.at > reminder.at) index -= 1;
  reminders.splice(index, 0, reminder);
}
