import { fileURLToPath } from 'node:url';
import { Subject } from './campaign.js';
import { drawPlan, type Plan } from './scenario/plan.js';
import type { Mutation } from './world/load-client.js';

const LIB = fileURLToPath(new URL('../../lib', import.meta.url));
/** Longer than the simulation waits for clients that may not be granted a lock, ms. */
const PAUSE = 60_000;
/** So long (ms) that the simulation waits for no grant. */
const MAX_LEASE = 2_000_000;

const LEFT_BEHIND: Mutation = {
  file: 'core/runtime/timers.ts',
  from: 'this.stopped = true;\n    clearTimeout(this.timer);',
  to: 'this.stopped = true;',
};

describe('a timer that is left after closing', () => {
  const plan: Plan = {
    ...drawPlan(1, { only: [] }),
    // Heartbeats are further apart than closing takes.
    lease: PAUSE,
    window: PAUSE,
    commandTimeout: 1_000,
    prefixes: ['fairlock'],
    names: ['lock'],
    denied: [],
    lags: [],
    latency: 2,
    safety: 1_000,
    clients: [
      {
        boot: 0,
        monotonicStart: 0,
        wallError: 0,
        rate: 1,
        defaultOptions: false,
        prefix: 0,
        strict: { maxLease: MAX_LEASE },
      },
    ],
    flows: [{ client: 0, requests: [{ lock: 0, think: PAUSE, waitTime: 0, hold: 0 }] }],
    faults: [],
  };

  test('counts if a client set it, not if a flow pauses before its next request', async () => {
    const { violations } = await new Subject(LIB).play(plan);
    expect(violations).toEqual([]);
    const { violations: planted } = await new Subject(LIB, [LEFT_BEHIND]).play(plan);
    expect(planted.map(({ invariant }) => invariant)).toEqual(['leak']);
    expect(planted[0]?.text).toContain('a timer is left after closing');
  });
});
