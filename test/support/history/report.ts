import { describe, NS_PER_MS, type HistoryEvent } from './events.js';
import type { HighestTokens } from './fencing.js';

/** What must hold of every history. */
export type Invariant =
  'exclusion' | 'tokens' | 'kept' | 'order' | 'wake-up' | 'exactly-once' | 'leak' | 'weight' | 'unhandled';

/**
 * What is not promised (docs/reliability.md), and so no violation:
 *
 * - `outage`: the order over an outage that is longer than a liveness window
 * - `unreachable`: the order while several subscriptions are broken at once, or while a client cannot be reached
 * - `clockSetBack`: the tokens after the clock of the server was set back while the lock was unused
 * - `dataLost`: the order over a loss of data, or a failover that may have lost some
 * - `batchEnded`: the order behind a batch that was released by force, or whose lease expired: its requests without a turn ask again
 */
export type Excuse = 'outage' | 'unreachable' | 'clockSetBack' | 'dataLost' | 'batchEnded';

/** How often each was needed. */
export type Excuses = Readonly<Partial<Record<Excuse, number>>>;

export function countExcuses(...all: readonly Excuse[][]): Excuses {
  const times: Partial<Record<Excuse, number>> = {};
  for (const excuse of all.flat()) times[excuse] = (times[excuse] ?? 0) + 1;
  return times;
}

/** What a history broke, and the events that show it. */
export interface Violation {
  readonly invariant: Invariant;
  readonly sentence: string;
  readonly events: readonly HistoryEvent[];
}

/** What the judges found, and how much there was to judge. */
export interface Report {
  readonly violations: readonly Violation[];
  readonly requests: number;
  readonly grants: number;
  readonly timeouts: number;
  readonly aborted: number;
  readonly errors: number;
  readonly lost: number;
  /** What was not in order and is not promised either; no violations. */
  readonly excused: number;
  /** The same, by reason. */
  readonly excuses: Excuses;
  /** Held at the same time after a fault took the lock from its holder, the later one with the higher token; no violations. */
  readonly fencedOverlaps: number;
  /** The longest time, in ms, for which a live waiter waited for a lock that was not held. */
  readonly worstWakeUp: number;
  /** By key; the next history of the same locks is judged against them. */
  readonly highestTokens: HighestTokens;
}

const MOST_SHOWN = 10;

/** For a failing test: what was broken, by which events, and which faults and stalls there were meanwhile; '' if nothing was. */
export function explain(report: Report, history: readonly HistoryEvent[]): string {
  const shown = report.violations.slice(0, MOST_SHOWN).map(({ invariant, sentence, events }) => {
    const lines = [...events, ...meanwhile(events, history)].map((event) => `    ${describe(event)}`);
    return [`${invariant}: ${sentence}`, ...lines].join('\n');
  });
  const hidden = report.violations.length - shown.length;
  return [...shown, ...(hidden > 0 ? [`… and ${hidden} more`] : [])].join('\n');
}

/** The faults and stalls from the first of some events to the last. */
function meanwhile(events: readonly HistoryEvent[], history: readonly HistoryEvent[]): HistoryEvent[] {
  const times = events.map(({ at }) => at);
  const [from, to] = [Math.min(...times), Math.max(...times)];
  return history.filter((event) => {
    if (event.type === 'fault') return event.at <= to && event.until >= from;
    return event.type === 'stall' && event.at - event.ms * NS_PER_MS <= to && event.at >= from;
  });
}

/** How often each invariant was broken. */
export function broken(report: Report): Record<string, number> {
  const times: Record<string, number> = {};
  for (const { invariant } of report.violations) times[invariant] = (times[invariant] ?? 0) + 1;
  return times;
}
