import { leaks, lostWeights, notExactlyOnce, unhandled } from './bookkeeping.js';
import type { HistoryEvent } from './events.js';
import { lateHolders, overlaps } from './exclusion.js';
import { Faults } from './faults.js';
import { highestTokens, tokenRegressions } from './fencing.js';
import { livesOf, type Life } from './lives.js';
import { inversions } from './order.js';
import { enteredEarly, overTheRule, partByKind, sharedInversions } from './sharing.js';
import { badNesting } from './reentrancy.js';
import { countExcuses, type Report } from './report.js';
import { stallsOf, standstills } from './stalls.js';
import type { CheckLimits } from './check-limits.js';
import { lostWakeUps } from './wake-ups.js';

/**
 * Judges a history by the invariants of the test design. It knows nothing of how the lock is made: neither tickets nor
 * keys nor messages, only what its users saw and what was done to the system.
 */
export function check(events: readonly HistoryEvent[], limits: CheckLimits): Report {
  const faults = new Faults(events);
  const lives = [...livesOf(events, faults).values()];
  const { plain, shared } = partByKind(lives);
  const exclusion = overlaps(plain, faults, limits);
  const stalls = stallsOf(events);
  const unreachable = new Faults([...events, ...standstills(stalls, limits.window, limits.heartbeat)]);
  const order = inversions(plain, unreachable, limits);
  const sharedOrder = sharedInversions(shared, stalls, unreachable, limits);
  const tokens = tokenRegressions(plain, faults, stalls, limits.highestTokens);
  const excuses = countExcuses(order.excuses, sharedOrder.excuses, tokens.excuses);
  const wakeUps = lostWakeUps(plain, events, stalls, faults, limits);
  return {
    violations: [
      ...exclusion.violations,
      ...overTheRule(shared, faults, limits),
      ...enteredEarly(plain, faults),
      ...tokens.violations,
      ...order.violations,
      ...sharedOrder.violations,
      ...wakeUps.violations,
      ...notExactlyOnce(lives),
      ...leaks(events),
      ...lostWeights(events),
      ...lateHolders(plain, faults, stalls, limits),
      ...unhandled(events),
      ...badNesting(plain, faults),
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

function refusals(life: Life, type: 'timeout' | 'aborted' | 'error'): number {
  return life.refusals.filter((refusal) => refusal.type === type).length;
}

function sum<T>(all: readonly T[], of: (one: T) => number): number {
  return all.reduce((total, one) => total + of(one), 0);
}
