import { NS_PER_MS, type Fault } from './events.js';
import type { Faults } from './faults.js';
import { livesByKey, type Life } from './lives.js';
import type { Excuse, Violation } from './report.js';
import { CANARY, stalledFor, TEST, type Stall } from './stalls.js';
import { SLACK, type CheckLimits } from './check-limits.js';

/** How long what was healed may be felt by a client: its next heartbeat puts its request back into its place. */
const linger = ({ heartbeat }: CheckLimits): number => heartbeat + SLACK;

/**
 * If A's place in line was acknowledged before B asked, A is granted first, unless it gave up before. Judged by real time, never by
 * tickets. Grants of a lock that several hold are heard of in any order if they were made together, so there only one that comes noticeably
 * later counts. What is not promised is excused, and counted apart.
 */
export function inversions(
  lives: Iterable<Life>,
  faults: Faults,
  stalls: readonly Stall[],
  limits: CheckLimits,
): { violations: Violation[]; excuses: Excuse[] } {
  const violations: Violation[] = [];
  const excuses: Excuse[] = [];
  for (const [key, ofKey] of livesByKey(lives)) {
    const granted = ofKey.filter((life) => life.granted).sort((a, b) => a.grantedAt - b.grantedAt);
    const isShared = ofKey.some(({ share }) => share);
    for (const [late, early, lastGrant] of passedOver(ofKey, granted)) {
      if (!early.granted && begunBefore(early, late, limits.begun)) continue;
      if (isShared && !isNoticeablyLater(early, late, stalls)) continue;
      // When the lock went to the later one it had asked, and the one granted before, if only one holds it, was no longer the last.
      const [from, to] = isShared
        ? [late.sent.at, early.waitsUntil]
        : [Math.max(late.sent.at, lastGrant), late.grantedAt];
      const excuse = excuseFor(early, ofKey, from, to, faults, limits);
      if (excuse) {
        excuses.push(excuse);
        continue;
      }
      violations.push({
        invariant: 'order',
        sentence: `${late.name} asked for ${key} when ${early.name} was in line already, and was granted it before`,
        events: [...early.events.slice(0, 3), ...late.events.slice(0, 3)],
      });
    }
  }
  return { violations, excuses };
}

/** Its process, which may have stood still, could have heard of a grant that was made together with the other one. */
function isNoticeablyLater(early: Life, late: Life, stalls: readonly Stall[]): boolean {
  const [from, to] = [late.grantedAt, early.waitsUntil];
  const heardLate = stalledFor(stalls, from, to, new Set([CANARY, TEST, early.worker]));
  return to > from + (SLACK + heardLate) * NS_PER_MS;
}

/** Why `early` may have been passed over when the lock went to another one between two stamps; undefined: it must not. */
function excuseFor(
  early: Life,
  ofKey: readonly Life[],
  from: number,
  to: number,
  faults: Faults,
  limits: CheckLimits,
): Excuse | undefined {
  const felt = faults.felt(early.key, from, to, linger(limits), early.worker);
  const found = new Set(felt.map((fault) => excuseOf(fault, limits)));
  if (wasInBatch(early, ofKey, from - linger(limits) * NS_PER_MS, to)) found.add('batchEnded');
  return EXCUSES.find((excuse) => found.has(excuse));
}

/** Of several reasons the first is counted. */
const EXCUSES: readonly Excuse[] = ['dataLost', 'outage', 'unreachable', 'batchEnded'];

function excuseOf({ kind, at, until }: Fault, { window, heartbeat }: CheckLimits): Excuse | undefined {
  switch (kind) {
    case 'dataLost':
    case 'serverDown':
      return 'dataLost';
    case 'serverAway':
      // A client that was about to call may have been silent for a window by then. A shorter one breaks all subscriptions.
      return (until - at) / NS_PER_MS + heartbeat >= window ? 'outage' : 'unreachable';
    case 'clockStepped':
      // By a clock that is set forward all have been silent for so long.
      return 'outage';
    case 'cut':
    case 'stopped':
      return 'unreachable';
    case 'forced':
      return 'batchEnded';
    case 'killed':
      return undefined;
  }
}

/** Whether a lease that the process of `early` had of this lock was lost between two stamps: `early` may have been in one batch with it. */
function wasInBatch(early: Life, ofKey: readonly Life[], from: number, to: number): boolean {
  return ofKey.some(({ worker, lost, looks }) => {
    const at = lost?.at ?? looks.find((look) => !look.held)?.at ?? Infinity;
    return worker === early.worker && at >= from && at <= to;
  });
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
