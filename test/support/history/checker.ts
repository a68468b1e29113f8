import { leaks, lostWeights, notExactlyOnce, unhandled } from './bookkeeping.js';
import type { HistoryEvent } from './events.js';
import { overlaps } from './exclusion.js';
import { Faults } from './faults.js';
import { enteredEarly, highestTokens, tokenRegressions } from './fencing.js';
import { livesOf, type Life } from './lives.js';
import { inversions } from './order.js';
import { countExcuses, type Report } from './report.js';
import { stallsOf, standstills } from './stalls.js';
import type { CheckLimits } from './check-limits.js';
import { lostWakeUps } from './wake-ups.js';

/**
 * Judges a history. It knows nothing of how the lock is made: neither tickets nor keys nor messages, only what its users saw and what was
 * done to the system.
 */
export function check(events: readonly HistoryEvent[], limits: CheckLimits): Report {
  const faults = new Faults(events);
  const lives = [...livesOf(events, faults).values()];
  const stalls = stallsOf(events);
  const exclusion = overlaps(lives, faults, stalls, limits);
  const unreachable = new Faults([...events, ...standstills(stalls, limits.window, limits.heartbeat)]);
  const order = inversions(lives, unreachable, stalls, limits);
  const alone = ofExclusiveLocks(lives);
  const tokens = tokenRegressions(alone, faults, stalls, limits.highestTokens);
  const excuses = countExcuses(order.excuses, tokens.excuses);
  const wakeUps = lostWakeUps(alone, events, stalls, faults, limits);
  return {
    violations: [
      ...exclusion.violations,
      ...tokens.violations,
      ...enteredEarly(alone, faults),
      ...order.violations,
      ...wakeUps.violations,
      ...notExactlyOnce(lives),
      ...leaks(events),
      ...lostWeights(events),
      ...unhandled(events),
    ],
    requests: lives.length,
    grants: sum(lives, (life) => life.grants.length),
    timeouts: sum(lives, (life) => refusals(life, 'timeout')),
    aborted: sum(lives, (life) => refusals(life, 'aborted')),
    errors: sum(lives, (life) => refusals(life, 'error')),
    lost: lives.filter((life) => life.lost).length,
    excused: sum(Object.values(excuses), (times) => times),
    excuses,
    fencedOverlaps: exclusion.fenced,
    worstWakeUp: wakeUps.worst,
    highestTokens: highestTokens(lives, limits.highestTokens),
  };
}

/** Of locks that nobody shared: the holds of others have no tokens that rise, and no one end. */
function ofExclusiveLocks(lives: readonly Life[]): Life[] {
  const shared = new Set(lives.filter(({ share }) => share).map(({ key }) => key));
  return lives.filter(({ key }) => !shared.has(key));
}

function refusals(life: Life, type: 'timeout' | 'aborted' | 'error'): number {
  return life.refusals.filter((refusal) => refusal.type === type).length;
}

function sum<T>(all: readonly T[], of: (one: T) => number): number {
  return all.reduce((total, one) => total + of(one), 0);
}
