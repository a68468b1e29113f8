import { check } from './checker.js';
import type { HistoryEvent } from './events.js';
import type { Report } from './report.js';
import type { CheckLimits } from './check-limits.js';

/** Begin or end of a section, as it appended it itself. */
type Line = readonly [what: 'B' | 'E', key: string, request: string, token: number | null];

/**
 * How many of the writes a resource refuses that remembers the highest token of each lock. Nothing is excused, nor are sections left out
 * that found themselves lost.
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

/** The verdict on a history whose sections wrote this. */
export function checkWithLog(events: readonly HistoryEvent[], text: string, limits: CheckLimits): Report {
  return check(events, { ...limits, begun: sectionsBegun(text) });
}

function linesOf(text: string): Line[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line);
}
