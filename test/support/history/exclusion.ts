import { NS_PER_MS, type FaultKind } from './events.js';
import type { Faults } from './faults.js';
import { grantedByKey, type Life } from './lives.js';
import type { Violation } from './report.js';
import { SLACK, type CheckLimits } from './check-limits.js';
import { wasToldLate, type Stall } from './stalls.js';

const DEAFENING: ReadonlySet<FaultKind> = new Set(['stopped', 'cut', 'serverDown', 'serverAway']);

/**
 * Invariant 1: sections of one lock, from the first to the last look that found it held, never overlap.
 * Where a fault took the lock away they may, for as long as a holder needs to notice, and with a higher token behind;
 * these are counted apart.
 */
export function overlaps(
  lives: Iterable<Life>,
  faults: Faults,
  limits: CheckLimits,
): { violations: Violation[]; fenced: number } {
  const found: Violation[] = [];
  let fenced = 0;
  for (const [key, granted] of grantedByKey(lives)) {
    const sections = granted
      .filter((life) => life.heldFrom)
      .sort((one, other) => at(one.heldFrom) - at(other.heldFrom));
    let longest: Life | undefined;
    for (const section of sections) {
      if (longest && at(longest.heldTo) > at(section.heldFrom)) {
        if (excepted(longest, section, faults, limits)) {
          fenced += 1;
        } else {
          found.push({
            invariant: 1,
            sentence: `${longest.name} and ${section.name} hold ${key} at the same time`,
            events: [longest.heldFrom, longest.heldTo, section.heldFrom, section.heldTo].filter(defined),
          });
        }
      }
      if (!longest || at(section.heldTo) > at(longest.heldTo)) longest = section;
    }
  }
  return { violations: found, fenced };
}

/** Invariant 7: no holder finds the lock held after it went to another. */
export function lateHolders(
  lives: Iterable<Life>,
  faults: Faults,
  stalls: readonly Stall[],
  limits: CheckLimits,
): Violation[] {
  const found: Violation[] = [];
  for (const [key, granted] of grantedByKey(lives)) {
    for (const [i, life] of granted.entries()) {
      const last = life.heldTo;
      if (!last) continue;
      const next = granted[i + 1];
      if (next && last.at > next.grantedAt) {
        const toldLate = isOlder(next, life) && wasToldLate(next, stalls, faults);
        if (!toldLate && !excepted(life, next, faults, limits)) {
          found.push({
            invariant: 7,
            sentence: `${life.name} finds itself holding ${key} after ${next.name} was granted it`,
            events: [life.granted, next.granted, last].filter(defined),
          });
        }
      }
    }
  }
  return found;
}

/** By their tokens. */
function isOlder(one: Life, other: Life): boolean {
  return one.token !== null && other.token !== null && one.token < other.token;
}

/**
 * The lock was taken from the older one, by their tokens, which notices it at its next renewal; if it could not reach the
 * server then, or stood still, at the latest when its lease is over. It may even learn of its grant after the other.
 */
export function excepted(one: Life, other: Life, faults: Faults, limits: CheckLimits): boolean {
  if (one.token !== null && one.token === other.token) return false;
  const [older, newer] = isOlder(other, one) ? [other, one] : [one, other];
  const taken = faults.taking(older.key, older.sent.at, Math.max(older.grantedAt, newer.grantedAt));
  if (!taken) return false;
  if (!older.heldTo) return true;
  const deaf = faults
    .felt(older.key, taken.at, older.heldTo.at, 0, older.worker)
    .some(({ kind }) => DEAFENING.has(kind));
  const overlap = older.heldTo.at - newer.grantedAt;
  return overlap <= ((deaf ? limits.lease : limits.renewal) + SLACK) * NS_PER_MS;
}

function at(event: { at: number } | undefined): number {
  return event?.at ?? Infinity;
}

function defined<T>(value: T | undefined): value is T {
  return value !== undefined;
}
