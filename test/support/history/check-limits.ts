import { NS_PER_MS, type Fault } from './events.js';
import type { HighestTokens } from './fencing.js';

/** What the judges must know of the lock besides the history; ms. */
export interface CheckLimits {
  /** The longest lease in use. */
  readonly lease: number;
  /** How long a waiting client may be silent. */
  readonly window: number;
  /** How often a holder looks whether it still holds. */
  readonly renewal: number;
  /** How often a waiter looks whether it still waits. */
  readonly heartbeat: number;
  /** Within what time a free lock has to be given to a live waiter. */
  readonly wakeUp: (gap: Gap) => number;
  /** From histories of the same locks before this one. */
  readonly highestTokens?: HighestTokens;
  /** Where in the sections' own log each request wrote its begin, by `sectionsBegun` (section-log.ts). */
  readonly begun?: ReadonlyMap<string, number>;
}

/** A time in which a lock was free and a request waited for it. */
export interface Gap {
  readonly key: string;
  readonly from: number;
  readonly to: number;
  /** Those that any worker may have felt meanwhile. */
  readonly faults: readonly Fault[];
  /** No request of this history had the lock before. */
  readonly first: boolean;
  /** For so long, ms, a process that has a part in it was given no core meanwhile. */
  readonly stalled: number;
}

/** ε: what two busy cores may need for what should happen at once, ms. */
export const SLACK = 250;

/** The usual terms: at once without a fault; faults at different times add a window each, and while the server is away nothing happens. */
export function usualLimits(lease: number, window: number): CheckLimits {
  return {
    lease,
    window,
    renewal: lease / 3,
    heartbeat: window / 3,
    wakeUp: (gap) => SLACK + gap.stalled + awayIn(gap) + gap.faults.length * window,
  };
}

/** Where servers take over from others: each fault of a gap, and `found` behind it, until clients have found the new one, ms. */
export function takeovers({ from, to, faults }: Gap, found: number): number {
  const down = faults.map(({ at, until }) => Math.max(0, Math.min(until, to) - Math.max(at, from)));
  return down.reduce((sum, ns) => sum + ns / NS_PER_MS + found, 0);
}

/** For how long the server was away in a gap, ms. */
function awayIn({ from, to, faults }: Gap): number {
  const away = faults.filter(({ kind }) => kind === 'serverAway');
  const ns = away.map(({ at, until }) => Math.max(0, Math.min(until, to) - Math.max(at, from)));
  return ns.reduce((sum, one) => sum + one, 0) / NS_PER_MS;
}
