import { NS_PER_MS, type HistoryEvent } from './events.js';
import type { Faults } from './faults.js';
import { livesByKey, type Life } from './lives.js';
import type { Violation } from './report.js';
import { CANARY, stalledFor, TEST, type Stall } from './stalls.js';
import type { CheckLimits } from './check-limits.js';

/**
 * Each release or expiry with a live waiter is followed by a grant within the bound.
 *
 * A killed holder's lease, and that of one who found it lost, is over at the latest a whole lease later.
 */
export function lostWakeUps(
  lives: Iterable<Life>,
  events: readonly HistoryEvent[],
  stalls: readonly Stall[],
  faults: Faults,
  limits: CheckLimits,
): { violations: Violation[]; worst: number } {
  const violations: Violation[] = [];
  const endedAt = events.reduce((latest, event) => Math.max(latest, event.at), 0);
  let worst = 0;
  for (const [key, ofKey] of livesByKey(lives)) {
    const granted = ofKey.filter((life) => life.granted).sort((a, b) => a.grantedAt - b.grantedAt);
    const joining = [...ofKey].sort((a, b) => b.sent.at - a.sent.at);
    let waiting: Life[] = [];
    for (const [before, freeAt, next] of gaps(granted, limits)) {
      const until = next?.grantedAt ?? endedAt;
      waiting = waiting.filter((waiter) => mayBeServedUntil(waiter) > freeAt);
      while ((joining.at(-1)?.sent.at ?? Infinity) < until) waiting.push(joining.pop()!);
      for (const waiter of waiting) {
        const from = Math.max(freeAt, waiter.inLineAt);
        const to = Math.min(until, waiter.waitsUntil);
        if (to <= from || felt(waiter, from, to, faults, limits)) continue;
        const waited = (to - from) / NS_PER_MS;
        worst = Math.max(worst, waited);
        const gap = {
          key,
          from,
          to,
          faults: faults.felt(key, from, to, limits.window),
          first: !before,
          stalled: 0,
        };
        if (waited <= limits.wakeUp(gap)) continue; // as nearly always: no excuse is needed
        const handers = processesOf(before, next, ...waiting);
        const bound = limits.wakeUp({ ...gap, stalled: stalledFor(stalls, from, to, handers) });
        if (waited <= bound) continue;
        violations.push({
          invariant: 'wake-up',
          sentence:
            `${key} was free and ${waiter.name} in line for ${waited.toFixed(0)} ms ` +
            `(${bound.toFixed(0)} ms allowed)${next ? '' : ', and it was not granted'}`,
          events: [before?.releaseSent ?? before?.granted, waiter.acked, next?.granted].filter(
            (event) => event !== undefined,
          ),
        });
        break; // one waiter is enough to show it
      }
    }
  }
  return { violations, worst };
}

/** From its sending until then the server may hand the lock to it, whose process may stand still before it knows its place. */
function mayBeServedUntil(waiter: Life): number {
  return Math.min(waiter.refusals[0]?.at ?? waiter.grantedAt, waiter.workerEnds);
}

/** Each time between two grants: who had it before, when that was surely over, and who had it next. */
function* gaps(
  granted: readonly Life[],
  limits: CheckLimits,
): Iterable<[Life | undefined, number, Life | undefined]> {
  let freeAt = 0;
  let before: Life | undefined;
  for (const life of granted) {
    yield [before, freeAt, life];
    freeAt = Math.max(freeAt, endedByThen(life, limits));
    before = life;
  }
  yield [before, freeAt, undefined];
}

function endedByThen(life: Life, limits: CheckLimits): number {
  const lease = limits.lease * NS_PER_MS;
  const lost = life.lost ?? life.looks.find((look) => !look.held);
  const kept = life.releaseSent && !lost ? life.grantedAt + (life.sent.holdAtLeast ?? 0) * NS_PER_MS : 0;
  if (kept > life.endsAt) return kept;
  return Math.min(life.endsAt, life.workerKilled + lease, (lost?.at ?? Infinity) + lease);
}

/** Those that have a part in handing the lock on, who are in line too: a stall of any other process is no excuse. */
function processesOf(...lives: readonly (Life | undefined)[]): Set<string> {
  return new Set([CANARY, TEST, ...lives.flatMap((life) => life?.worker ?? [])]);
}

/** Something that only this waiter felt kept it from being served: that is no lost wake-up. */
function felt(waiter: Life, from: number, to: number, faults: Faults, limits: CheckLimits): boolean {
  return faults
    .felt(waiter.key, from, to, limits.window, waiter.worker)
    .some(({ victim }) => victim !== undefined);
}
