import { jest } from '@jest/globals';
import { fileURLToPath } from 'node:url';
import { runCampaign, Subject } from './campaign.js';
import { REPLICA_FAULT_KINDS } from './scenario/faults.js';

const LIB = fileURLToPath(new URL('../../lib', import.meta.url));
const FIRST = 1;
/** Pure computing, about 4 s; a machine that is busy with other things may take far longer. */
jest.setTimeout(300_000);

describe('simulated clients on a simulated Redis', () => {
  test('break no invariant, whatever fails', async () => {
    const seeds = 36;
    const { tally, failures } = await runCampaign(new Subject(LIB), { first: FIRST, seeds });
    expect(failures.map(({ plan, violation }) => ({ seed: plan.seed, ...violation }))).toEqual([]);
    expect(tally.grants).toBeGreaterThan(10 * seeds);
    expect(tally.faults).toBeGreaterThan(5 * seeds);
  });

  test('lose no more than docs/outages.md says, whatever becomes of the primary', async () => {
    const seeds = 24;
    const { tally, failures } = await runCampaign(new Subject(LIB), {
      first: FIRST,
      seeds,
      limits: { only: REPLICA_FAULT_KINDS },
    });
    expect(failures.map(({ plan, violation }) => ({ seed: plan.seed, ...violation }))).toEqual([]);
    expect(tally.grants).toBeGreaterThan(10 * seeds);
    expect(tally.faults).toBeGreaterThan(2 * seeds);
  });

  test('are never out of turn, and need no excuse, where nothing fails', async () => {
    const seeds = 15;
    const { tally, failures } = await runCampaign(new Subject(LIB), {
      first: FIRST,
      seeds,
      limits: { only: [] },
    });
    expect(failures.map(({ plan, violation }) => ({ seed: plan.seed, ...violation }))).toEqual([]);
    expect(tally.grants).toBeGreaterThan(10 * seeds);
    expect(Object.keys(tally).filter((name) => name.startsWith('excused'))).toEqual([]);
    expect(tally.faults).toBe(0);
  });
});
