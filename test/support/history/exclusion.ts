import { NS_PER_MS, type FaultKind } from './events.js';
import type { Faults } from './faults.js';
import { grantedByKey, type Life } from './lives.js';
import type { Violation } from './report.js';
import { SLACK, type CheckLimits } from './check-limits.js';
import { wasToldLate, type Stall } from './stalls.js';

const DEAFENING: ReadonlySet<FaultKind> = new Set(['stopped', 'cut', 'serverDown', 'serverAway']);

/**
 * No more hold a lock together than its rule admits: one section, reads, or permits up to the highest limit of those inside. A section
 * holds it from its grant to the last look that found it held. Where a fault took the lock away, a holder may go on for as long as it needs
 * to notice; these overlaps are counted apart.
 */
export function overlaps(
  lives: Iterable<Life>,
  faults: Faults,
  stalls: readonly Stall[],
  limits: CheckLimits,
): { violations: Violation[]; fenced: number } {
  const found: Violation[] = [];
  let fenced = 0;
  for (const [key, granted] of grantedByKey(lives)) {
    let inside: Life[] = [];
    for (const life of granted) {
      inside = inside.filter(({ heldTo }) => heldTo && heldTo.at > life.grantedAt);
      const toldLate = wasToldLate(life, stalls, faults);
      const beside = inside.filter((other) => !toldLate || isOlder(other, life));
      const others = beside.filter((other) => !excepted(other, life, faults, limits));
      if (life.heldFrom) fenced += beside.length - others.length;
      if (!mayJoin(life, others)) {
        found.push({
          invariant: 'exclusion',
          sentence: `${life.name} was granted ${key} while it was held by ${others.map(({ name }) => name).join(', ')}`,
          events: [life, ...others]
            .flatMap(({ sent, granted, heldTo }) => [sent, granted, heldTo])
            .filter((event) => event !== undefined),
        });
      }
      inside.push(life);
    }
  }
  return { violations: found, fenced };
}

function mayJoin({ share }: Life, others: readonly Life[]): boolean {
  if (others.length === 0) return true;
  if (!share || others.some((other) => other.share?.mode !== share.mode)) return false;
  if (share.mode === 'read') return true;
  const together = [share, ...others.flatMap((other) => other.share ?? [])].filter(
    (one) => one.mode === 'permits',
  );
  const used = together.reduce((sum, { weight }) => sum + weight, 0);
  // Whoever was admitted last fits into its own limit.
  return used <= Math.max(...together.map(({ limit }) => limit));
}

/** By their tokens. */
function isOlder(one: Life, other: Life): boolean {
  return one.token !== null && other.token !== null && one.token < other.token;
}

/**
 * The lock was taken from the older one, by their tokens, which notices it at its next renewal; if it could not reach the
 * server then, or stood still, at the latest when its lease is over. It may even learn of its grant after the other.
 */
function excepted(one: Life, other: Life, faults: Faults, limits: CheckLimits): boolean {
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
