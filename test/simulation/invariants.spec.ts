import { jest } from '@jest/globals';
import { runCampaign, Subject } from './campaign.js';
import { REPLICA_FAULT_KINDS } from './scenario/faults.js';

const FIRST = 1;
/** Pure computing, about 4 s; a machine that is busy with other things may take far longer. */
jest.setTimeout(300_000);

describe('simulated clients on a simulated Redis', () => {
  test('break no invariant, whatever fails', async () => {
    const seeds = 36;
    const { counts, failures } = await runCampaign(new Subject(), FIRST, seeds);
    expect(failures.map(({ plan, violation }) => ({ seed: plan.seed, ...violation }))).toEqual([]);
    expect(counts['grants']).toBeGreaterThan(10 * seeds);
    expect(counts['faults']).toBeGreaterThan(5 * seeds);
  });

  test('lose no more than docs/outages.md says, whatever becomes of the primary', async () => {
    const seeds = 24;
    const { counts, failures } = await runCampaign(new Subject(), FIRST, seeds, {
      only: REPLICA_FAULT_KINDS,
    });
    expect(failures.map(({ plan, violation }) => ({ seed: plan.seed, ...violation }))).toEqual([]);
    expect(counts['grants']).toBeGreaterThan(10 * seeds);
    expect(counts['faults']).toBeGreaterThan(2 * seeds);
  });

  test('are never out of turn, and need no excuse, where nothing fails', async () => {
    const seeds = 15;
    const { counts, failures } = await runCampaign(new Subject(), FIRST, seeds, { only: [] });
    expect(failures.map(({ plan, violation }) => ({ seed: plan.seed, ...violation }))).toEqual([]);
    expect(counts['grants']).toBeGreaterThan(10 * seeds);
    expect(Object.keys(counts).filter((name) => name.startsWith('excused'))).toEqual([]);
    expect(counts['faults']).toBe(0);
  });

  test('cost Redis no more for each command where many processes wait', async () => {
    const seeds = 3;
    const { counts, failures } = await runCampaign(new Subject(), FIRST, seeds, { crowd: true });
    expect(failures.map(({ plan, violation }) => ({ seed: plan.seed, ...violation }))).toEqual([]);
    expect(counts['grants']).toBeGreaterThan(10 * seeds);
  });

  test.each([
    ['a request that finds the queue full, in a command for many', 1597758750],
    ['too few replicas, and leases that end before they could answer', 569881898],
  ])('pass a seed that failed once: %s', async (_, seed) => {
    const { failures } = await runCampaign(new Subject(), seed, 1);
    expect(failures.map(({ violation }) => violation)).toEqual([]);
  });
});
