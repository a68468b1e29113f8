import { fileURLToPath } from 'node:url';
import { Subject } from './campaign.js';
import { drawPlan, type Plan, type PlannedClient, type PlannedRequest } from './scenario/plan.js';

const LIB = fileURLToPath(new URL('../../lib', import.meta.url));
/** What is known of a silent client is kept for a minute beyond its window, ms. */
const LATER = 100_000;

/** Random plans hardly ever have a lock that is in use for long enough after a client has ended. */
describe('a lock that is never at rest', () => {
  const client: PlannedClient = {
    boot: 0,
    monotonicStart: 0,
    wallError: 0,
    rate: 1,
    defaultOptions: false,
    prefix: 0,
  };
  const request: PlannedRequest = { lock: 0, think: 0, waitTime: Infinity, hold: 500 };
  const requests = (count: number): PlannedRequest[] => Array.from({ length: count }, () => request);
  const plan: Plan = {
    ...drawPlan(1, { only: [] }),
    lease: 3_000,
    window: 2_000,
    commandTimeout: 1_000,
    prefixes: ['fairlock'],
    names: ['lock'],
    smallLimits: false,
    denied: [],
    lags: [],
    latency: 2,
    safety: 1.5 * LATER,
    clients: [client, client, client, { ...client, boot: LATER }],
    flows: [
      { client: 0, requests: requests(2) },
      { client: 1, requests: requests(LATER / 500) },
      { client: 2, requests: requests(LATER / 500) },
      { client: 3, requests: requests(10) },
    ],
    faults: [
      {
        kind: 'kill',
        at: 10_000,
        duration: 0,
        client: 0,
        lock: 0,
        role: 'both',
        direction: 'both',
        flag: false,
        amount: 0,
      },
    ],
  };

  test('keeps no record of a client that waited for it and ended long ago when another comes', async () => {
    const { violations, tally } = await new Subject(LIB).play(plan);
    expect(violations).toEqual([]);
    expect(tally.grants).toBeGreaterThan(LATER / 500);
  }, 60_000);
});
