import { runCampaign } from '../soak/campaign.js';
import { writeResult } from './results.js';

/** Always the same, so that a change that breaks it is seen at once; and another one each time. */
const FIXED_SEED = 1;
const SAFETY = 20_000;
/** Faults of half a minute, what drains behind them, and the closing. */
const TIMEOUT = 180_000;

/** `SEED=…` replays one. */
const given = process.env['SEED'];
const seeds = given === undefined ? [FIXED_SEED, Date.now() % 2 ** 31] : [Number(given)];

describe('random faults over several processes, then all healed', () => {
  test.each(seeds)(
    'seed %d: one holder at a time, in order, with rising tokens; no request is forgotten, nothing is left',
    async (seed) => {
      writeResult({ type: 'seed', seed });
      const totals = await runCampaign({
        ...{ seed, safety: SAFETY, liveness: 3_000, untilGone: false },
        onProgress: () => undefined,
      });
      const { grants, broken, excuses, worstRecoveryMs, explanations } = totals;
      writeResult({ type: 'history', grants, broken, excuses });
      writeResult({ type: 'measured', took: worstRecoveryMs['free lock, live waiter'] ?? 0, bound: null });
      expect(explanations.join('\n')).toBe('');
      expect(grants).toBeGreaterThan(1_000);
    },
    TIMEOUT,
  );
});
