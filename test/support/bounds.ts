import { NS_PER_MS } from './history/events.js';
import type { Lab } from './history/lab.js';
import { SLACK } from './history/check-limits.js';
import { CANARY, stalledFor, stallsOf, TEST } from './history/stalls.js';
import { pause } from './waiting.js';

/** The canary tells of a stall when it is over, at its next tick. */
const CANARY_TELLS = 50;

/** A moment: an event, or a stamp. */
export type Moment = number | { readonly at: number; readonly worker: string };

/** Milliseconds from one moment to another. */
export function timeBetween(from: Moment, to: Moment): number {
  return (stampOf(to) - stampOf(from)) / NS_PER_MS;
}

/**
 * Expects that `to` came at most `bound` ms after `from`, and ε, and what the machine, this process, or those of the two events stood
 * still meanwhile; between two stamps of the test, what any process did.
 */
export async function expectWithin(lab: Lab, from: Moment, to: Moment, bound: number): Promise<void> {
  await pause(CANARY_TELLS);
  const took = timeBetween(from, to);
  const ofEvents = [...workerOf(from), ...workerOf(to)];
  const workers = ofEvents.length > 0 ? new Set([CANARY, TEST, ...ofEvents]) : undefined;
  const stalled = stalledFor(stallsOf(lab.history.events), stampOf(from), stampOf(to), workers);
  expect(took).toBeLessThanOrEqual(bound + SLACK + stalled);
}

function stampOf(moment: Moment): number {
  return typeof moment === 'number' ? moment : moment.at;
}

function workerOf(moment: Moment): string[] {
  return typeof moment === 'number' ? [] : [moment.worker];
}

/** An error waits this long (ms) for the server to tell what blocked the request; then it does without. */
export const BLOCKER_TIME = 100;
