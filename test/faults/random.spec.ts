import { runCampaign } from '../soak/campaign.js';

const SAFETY = 20_000;
/** Faults of half a minute, what drains behind them, and the closing. */
const TIMEOUT = 180_000;

/** Always the same, so that a change that breaks it is noticed; the soak draws others each night. */
const seed = Number(process.env['SEED'] ?? 1);

describe('random faults over several processes, then all healed', () => {
  test(
    'one holder at a time, in order, with rising tokens; no request is forgotten, nothing is left',
    async () => {
      const { grants, explanations } = await runCampaign({
        ...{ seed, safety: SAFETY, liveness: 3_000, untilGone: false },
        // So that it works beside other suites: a process that starts takes a core for a quarter of a second.
        ...{ killsPerSecond: 0.8, share: 1 / 3 },
        onProgress: () => undefined,
      });
      expect(explanations.join('\n')).toBe('');
      expect(grants).toBeGreaterThan(1_000);
    },
    TIMEOUT,
  );
});
