import { NS_PER_MS, type HistoryEvent } from './history/events.js';
import type { Lab } from './history/lab.js';
import { SLACK } from './history/terms.js';
import { pause } from './waiting.js';

/** The canary tells of a stall when it is over, at its next tick. */
const CANARY_TELLS = 50;

/** A moment: an event, or a stamp. */
export type Moment = number | { readonly at: number };

/** Expects that `to` came at most `bound` ms after `from`, and ε, and what the machine stood still meanwhile. */
export async function expectWithin(lab: Lab, from: Moment, to: Moment, bound: number): Promise<void> {
  await pause(CANARY_TELLS);
  const [begin, end] = [stampOf(from), stampOf(to)];
  const took = (end - begin) / NS_PER_MS;
  if (process.env['FAULTS_VERBOSE']) {
    const { currentTestName } = expect.getState();
    process.stderr.write(`${currentTestName}: ${took.toFixed(0)} of ${bound.toFixed(0)} ms\n`);
  }
  expect(took).toBeLessThanOrEqual(bound + SLACK + stalled(lab.history.events, begin, end));
}

function stampOf(moment: Moment): number {
  return typeof moment === 'number' ? moment : moment.at;
}

/** For how long, ms, processes of this machine got no turn between two stamps. */
function stalled(events: readonly HistoryEvent[], from: number, to: number): number {
  let sum = 0;
  for (const event of events) {
    if (event.type !== 'stall') continue;
    const overlap = Math.min(event.at, to) - Math.max(event.at - event.ms * NS_PER_MS, from);
    if (overlap > 0) sum += overlap / NS_PER_MS;
  }
  return sum;
}
