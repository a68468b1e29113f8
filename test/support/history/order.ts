import { NS_PER_MS, type Fault } from './events.js';
import type { Faults } from './faults.js';
import { livesByKey, type Life } from './lives.js';
import type { Violation } from './report.js';
import { SLACK, type CheckLimits } from './check-limits.js';

/**
 * Invariant 3: if A's place in line was acknowledged before B asked, A is granted first, unless it gave up before.
 * Judged by real time, never by tickets. Excused, and counted apart, while a fault kept A's client from being reached. That the server
 * was away for all, and came back with its data, is an excuse only if a newcomer may have called first (docs/protocol.md, known limits).
 */
export function inversions(
  lives: Iterable<Life>,
  faults: Faults,
  limits: CheckLimits,
): { violations: Violation[]; excused: number } {
  const violations: Violation[] = [];
  let excused = 0;
  for (const [key, ofKey] of livesByKey(lives)) {
    const granted = ofKey.filter((life) => life.granted).sort((a, b) => a.grantedAt - b.grantedAt);
    for (const [late, early, lastGrant] of passedOver(ofKey, granted)) {
      if (!early.granted && begunBefore(early, late, limits.begun)) continue;
      // When the lock went to the later one it had asked, and the one granted before was no longer the last.
      const from = Math.max(late.sent.at, lastGrant);
      const felt = faults.felt(key, from, late.grantedAt, limits.window + SLACK, early.worker);
      if (felt.some((fault) => fault.kind !== 'serverAway' || newcomerWasFirst(fault, ofKey, late, limits))) {
        excused += 1;
        continue;
      }
      violations.push({
        invariant: 3,
        sentence: `${late.name} asked for ${key} when ${early.name} was in line already, and was granted it before`,
        events: [...early.events.slice(0, 3), ...late.events.slice(0, 3)],
      });
    }
  }
  return { violations, excused };
}

/** An outage in which waiters may have been silent for a window, and one that did not wait before asked before they were served. */
function newcomerWasFirst(outage: Fault, ofKey: readonly Life[], late: Life, limits: CheckLimits): boolean {
  const { at, until } = outage;
  if ((until - at) / NS_PER_MS + limits.renewal < limits.window) return false;
  const waited = new Set(
    ofKey.filter((life) => life.inLineAt <= at && life.waitsUntil > at).map(({ worker }) => worker),
  );
  return ofKey.some(
    ({ sent, worker, inLineAt }) => inLineAt > at && sent.at <= late.grantedAt && !waited.has(worker),
  );
}

/** By the sections' own log. */
function begunBefore(early: Life, late: Life, begun: CheckLimits['begun']): boolean {
  return (begun?.get(early.name) ?? Infinity) < (begun?.get(late.name) ?? -Infinity);
}

/** Pairs of one that was granted, one that it passed over, and when the lock was given to the one before. */
function* passedOver(ofKey: readonly Life[], granted: readonly Life[]): Iterable<[Life, Life, number]> {
  const inLine = ofKey.filter((life) => life.inLineAt < Infinity).sort((a, b) => a.inLineAt - b.inLineAt);
  const bySending = granted.map((life, i) => ({ life, before: granted[i - 1] }));
  bySending.sort((a, b) => a.life.sent.at - b.life.sent.at);
  // Among those in line before a sending, one that waits longest shows whether any request was passed over at all.
  let known = 0;
  let longest = -Infinity;
  for (const { life, before } of bySending) {
    for (let next = inLine[known]; next && next.inLineAt < life.sent.at; next = inLine[++known]) {
      longest = Math.max(longest, next.waitsUntil);
    }
    if (longest <= life.grantedAt) continue;
    for (const early of inLine.slice(0, known)) {
      if (early !== life && early.waitsUntil > life.grantedAt) yield [life, early, before?.grantedAt ?? 0];
    }
  }
}
