import type { Faults } from './faults.js';
import { grantedByKey, type Life } from './lives.js';
import type { Excuse, Violation } from './report.js';
import { wasToldLate, type Stall } from './stalls.js';

/** By key, from histories of the same locks before this one; they may overlap with it. */
export type HighestTokens = ReadonlyMap<string, { readonly token: number; readonly grantedAt: number }>;

/**
 * Tokens rise strictly in grant order, whatever happened to the server. Where a fault took the lock away from
 * a client that learns late that it had it, or whose process stood still before it told of it, the order of two grants is only known if it
 * asked when the other had been granted. Excused, and counted apart, after the server's clock was set back while the lock was unused.
 */
export function tokenRegressions(
  lives: Iterable<Life>,
  faults: Faults,
  stalls: readonly Stall[],
  before: HighestTokens = new Map(),
): { violations: Violation[]; excuses: Excuse[] } {
  const found: Violation[] = [];
  const excuses: Excuse[] = [];
  for (const [key, granted] of grantedByKey(lives)) {
    const fenced = granted.filter((life) => life.token !== null);
    let highest: Life | undefined;
    for (const life of fenced) {
      const earlier = before.get(key);
      if (earlier && earlier.grantedAt < life.sent.at && tokenOf(life) <= earlier.token) {
        found.push({
          invariant: 'tokens',
          sentence: `the token of ${life.name} for ${key} is not above ${earlier.token}, which was given out before it asked`,
          events: life.grants,
        });
      }
      if (highest && tokenOf(life) <= tokenOf(highest)) {
        const orderIsKnown = highest.grantedAt < life.sent.at;
        const same = tokenOf(life) === tokenOf(highest);
        const mayBeOlder =
          faults.taking(key, life.sent.at, life.grantedAt) !== undefined || wasToldLate(life, stalls, faults);
        if (wasSetBackUnused(key, highest, life, faults)) {
          excuses.push('clockSetBack');
        } else if (same || orderIsKnown || !mayBeOlder) {
          found.push({
            invariant: 'tokens',
            sentence: `the token of ${life.name} for ${key} is not above that of ${highest.name}, which was granted before`,
            events: [...highest.grants, ...life.grants],
          });
        }
      }
      if (!highest || tokenOf(life) > tokenOf(highest)) highest = life;
    }
  }
  return { violations: found, excuses };
}

/** The clock was set since the grant of `highest`, and the lock, which keeps its last token only while it is used, was at rest since. */
function wasSetBackUnused(key: string, highest: Life, life: Life, faults: Faults): boolean {
  return (
    highest.endsAt < life.sent.at &&
    faults.felt(key, highest.grantedAt, life.grantedAt, 0).some(({ kind }) => kind === 'clockStepped')
  );
}

/**
 * A lock that is kept from its grant (`holdAtLeast`) is not granted again before. A token is the time of its grant in µs, or one more than
 * the last if the server's clock was set back, which is a fault that excuses it.
 */
export function enteredEarly(lives: Iterable<Life>, faults: Faults): Violation[] {
  const found: Violation[] = [];
  for (const [key, granted] of grantedByKey(lives)) {
    const byToken = granted.filter(({ token }) => token !== null).sort((a, b) => tokenOf(a) - tokenOf(b));
    for (const [i, life] of byToken.entries()) {
      const next = byToken[i + 1];
      const keep = life.sent.holdAtLeast ?? 0;
      if (!next || life.foundLost || !life.releaseSent) continue;
      if (tokenOf(next) - tokenOf(life) >= (keep - 1) * 1_000) continue;
      if (faults.taking(key, life.sent.at, next.grantedAt)) continue;
      found.push({
        invariant: 'kept',
        sentence: `${next.name} was granted ${key} less than ${keep} ms after ${life.name}, which kept it for so long`,
        events: [life.sent, ...life.grants, ...next.grants],
      });
    }
  }
  return found;
}

export function highestTokens(lives: Iterable<Life>, before: HighestTokens = new Map()): HighestTokens {
  const highest = new Map(before);
  for (const { key, token, grantedAt } of lives) {
    if (token !== null && token > (highest.get(key)?.token ?? 0)) highest.set(key, { token, grantedAt });
  }
  return highest;
}

function tokenOf(life: Life): number {
  return life.token ?? NaN;
}
