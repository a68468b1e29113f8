import { check } from './checker.js';
import type { HistoryEvent } from './events.js';
import { livesOf, type Life } from './lives.js';
import { Faults } from './faults.js';
import type { Report, Violation } from './report.js';
import type { CheckLimits } from './check-limits.js';

/** Begin or end of a section, as it appended it itself. */
type Line = readonly [what: 'B' | 'E', key: string, request: string, token: number | null];

/**
 * Judges the file to which every section appends at its begin and at its end; the order of the lines is the order of
 * the writes, whatever the clocks say (invariants 1 and 2). A section that found itself lost, at its end or in between,
 * does not count: its writes are what fencing tokens are for. Nor does one from which a fault took the lock.
 */
export function judgeLog(text: string, events: readonly HistoryEvent[]): Violation[] {
  const faults = new Faults(events);
  const lives = livesOf(events, faults);
  const shared = new Set([...lives.values()].filter(({ share }) => share).map((life) => life.key));
  const lines = linesOf(text);
  const found: Violation[] = [];
  const inside = new Map<string, string>();
  const ends = new Set(lines.filter(([what]) => what === 'E').map(([, , request]) => request));
  const highest = new Map<string, number>();
  for (const [what, key, request, token] of lines) {
    const life = lives.get(request);
    // Several may write to a lock that is shared; their looks are judged instead (invariant 10).
    if (!life || life.foundLost || shared.has(key)) continue;
    const other = inside.get(key);
    const before = lives.get(other ?? '');
    // Where the lock was taken from its holder by a fault, the guarded data refuses the lower token; how long that may
    // last is judged by the looks of the holders.
    const from = Math.min(life.sent.at, before?.sent.at ?? Infinity);
    if (faults.taking(key, from, life.heldTo?.at ?? Infinity)) {
      if (other === request) inside.delete(key);
      continue;
    }
    if (token !== null) {
      // The guarded data remembers the highest token.
      if (token < (highest.get(key) ?? 0)) {
        found.push(
          violation(2, `${request} writes to ${key} with a token below one that was there before`, life),
        );
      }
      highest.set(key, Math.max(token, highest.get(key) ?? 0));
    }
    if (other !== undefined && other !== request) {
      found.push(
        violation(
          1,
          `in the log, ${request} writes to ${key} between begin and end of ${other}`,
          life,
          before,
        ),
      );
    }
    // One that never wrote its end was killed: from then on nothing of it comes any more.
    if (what === 'B' && ends.has(request)) inside.set(key, request);
    if (what === 'E' && other === request) inside.delete(key);
  }
  return found;
}

/**
 * How many of the writes a resource refuses that remembers the highest token of each lock. Nothing is excused, nor are
 * sections left out that found themselves lost.
 */
export function refusedWrites(text: string): number {
  const highest = new Map<string, number>();
  let refused = 0;
  for (const [, key, , token] of linesOf(text)) {
    if (token === null) continue;
    if (token < (highest.get(key) ?? 0)) refused += 1;
    else highest.set(key, token);
  }
  return refused;
}

/**
 * The place of each section's begin among all lines. A process that is killed takes with it what its journal had
 * gathered, but not what a section wrote: the log knows of grants that no event tells.
 */
export function sectionsBegun(text: string): Map<string, number> {
  const begun = new Map<string, number>();
  for (const [place, [what, , request]] of linesOf(text).entries())
    if (what === 'B') begun.set(request, place);
  return begun;
}

/** The verdict on a history and on what its sections wrote. */
export function checkWithLog(events: readonly HistoryEvent[], text: string, limits: CheckLimits): Report {
  const report = check(events, { ...limits, begun: sectionsBegun(text) });
  return { ...report, violations: [...report.violations, ...judgeLog(text, events)] };
}

function linesOf(text: string): Line[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line);
}

function violation(invariant: 1 | 2, sentence: string, ...lives: (Life | undefined)[]): Violation {
  return { invariant, sentence, events: lives.flatMap((life) => life?.events ?? []) };
}
