import type { Faults } from './faults.js';
import { NS_PER_MS } from './events.js';
import { excepted } from './exclusion.js';
import { grantedByKey, livesByKey, type Life } from './lives.js';
import { excuseFor } from './order.js';
import type { Excuse, Violation } from './report.js';
import { CANARY, stalledFor, TEST, type Stall } from './stalls.js';
import { SLACK, type CheckLimits } from './check-limits.js';

/** Whether a lock's requests shared it, or some of them; then the judges of exclusive locks have nothing to say of it. */
export function partByKind(lives: readonly Life[]): { plain: Life[]; shared: Life[] } {
  const keys = new Set(lives.filter(({ share }) => share).map(({ key }) => key));
  return {
    plain: lives.filter(({ key }) => !keys.has(key)),
    shared: lives.filter(({ key }) => keys.has(key)),
  };
}

/**
 * Invariant 10: sections, from the first to the last look that found the lock held, are never more together than the rule admits: permits
 * up to the highest limit of those inside, reads, or one exclusive section. Excused as overlaps of exclusive sections are.
 */
export function overTheRule(lives: Iterable<Life>, faults: Faults, limits: CheckLimits): Violation[] {
  const found: Violation[] = [];
  for (const [key, granted] of grantedByKey(lives)) {
    const sections = granted.filter((life) => life.heldFrom).sort((a, b) => from(a) - from(b));
    let inside: Life[] = [];
    for (const section of sections) {
      inside = inside.filter((other) => to(other) > from(section));
      const others = inside.filter((other) => !excepted(other, section, faults, limits));
      if (!mayJoin(section, others)) {
        found.push({
          invariant: 10,
          sentence: `${section.name} holds ${key} together with ${others.map(({ name }) => name).join(', ')}`,
          events: [section, ...others]
            .flatMap(({ sent, heldFrom, heldTo }) => [sent, heldFrom, heldTo])
            .filter(defined),
        });
      }
      inside.push(section);
    }
  }
  return found;
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

/**
 * Invariant 3 where several hold a lock: who was in line before another asked is not granted after it. Such grants have no tokens, and are
 * heard of in any order if they were made together, so only an earlier one that is granted noticeably later counts.
 */
export function sharedInversions(
  lives: Iterable<Life>,
  stalls: readonly Stall[],
  faults: Faults,
  limits: CheckLimits,
): { violations: Violation[]; excuses: Excuse[] } {
  const violations: Violation[] = [];
  const excuses: Excuse[] = [];
  for (const [key, ofKey] of livesByKey(lives)) {
    const inLine = ofKey.filter((life) => life.inLineAt < Infinity);
    for (const late of ofKey.filter((life) => life.granted)) {
      for (const early of inLine) {
        if (early.inLineAt >= late.sent.at || early.waitsUntil <= late.grantedAt + SLACK * NS_PER_MS)
          continue;
        const heardLate = stalledFor(
          stalls,
          late.grantedAt,
          early.waitsUntil,
          new Set([CANARY, TEST, early.worker]),
        );
        if (early.waitsUntil <= late.grantedAt + (SLACK + heardLate) * NS_PER_MS) continue;
        const excuse = excuseFor(early, ofKey, late.sent.at, early.waitsUntil, faults, limits);
        if (excuse) {
          excuses.push(excuse);
          continue;
        }
        violations.push({
          invariant: 3,
          sentence: `${late.name} asked for ${key} when ${early.name} was in line already, and was granted it before`,
          events: [...early.events.slice(0, 3), ...late.events.slice(0, 3)],
        });
      }
    }
  }
  return { violations, excuses };
}

/**
 * Invariant 12: a lock that is kept from its grant (`holdAtLeast`) is not granted again before. A token is the time of its grant in µs,
 * or one more than the last if the server's clock was set back, which is a fault that excuses it.
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
        invariant: 12,
        sentence: `${next.name} was granted ${key} less than ${keep} ms after ${life.name}, which kept it for so long`,
        events: [life.sent, ...life.grants, ...next.grants],
      });
    }
  }
  return found;
}

const from = (life: Life): number => life.heldFrom?.at ?? Infinity;
const to = (life: Life): number => life.heldTo?.at ?? -Infinity;
const tokenOf = (life: Life): number => life.token ?? NaN;

function defined<T>(value: T | undefined): value is T {
  return value !== undefined;
}
