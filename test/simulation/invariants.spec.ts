import { jest } from '@jest/globals';
import { runCampaign, Subject, type Counts } from './campaign.js';
import { REPLICA_FAULT_KINDS } from './scenario/faults.js';
import type { PlanLimits } from './scenario/plan.js';

const FIRST = 1;
/** Pure computing, less than a minute; a machine that is busy with other things may take far longer. */
jest.setTimeout(300_000);

/** Plays so many seeds, of which none fails and each grants locks. */
async function play(seeds: number, limits?: PlanLimits): Promise<Counts> {
  const { counts, failures } = await runCampaign(new Subject(), FIRST, seeds, limits);
  expect(failures.map(({ plan, violation }) => ({ seed: plan.seed, ...violation }))).toEqual([]);
  expect(counts['grants']).toBeGreaterThan(10 * seeds);
  return counts;
}

describe('simulated clients on a simulated Redis', () => {
  test('break no invariant, whatever fails', async () => {
    const { faults } = await play(36);
    expect(faults).toBeGreaterThan(5 * 36);
  });

  test('lose no more than docs/outages.md says, whatever becomes of the primary', async () => {
    const { faults } = await play(24, { only: REPLICA_FAULT_KINDS });
    expect(faults).toBeGreaterThan(2 * 24);
  });

  test('are never out of turn, and need no excuse, where nothing fails', async () => {
    const counts = await play(15, { only: [] });
    expect(Object.keys(counts).filter((name) => name.startsWith('excused'))).toEqual([]);
    expect(counts['faults']).toBe(0);
  });

  test('cost Redis no more for each command where many processes wait', async () => {
    await play(3, { crowd: true });
  });

  test.each([
    ['a request that finds the queue full, in a command for many', 1597758750],
    ['too few replicas, and leases that end before they could answer', 569881898],
    ['fixed leases that end before the replicas have confirmed them', 920026],
  ])('pass a seed that failed once: %s', async (_, seed) => {
    const { failures } = await runCampaign(new Subject(), seed, 1);
    expect(failures.map(({ violation }) => violation)).toEqual([]);
  });
});
