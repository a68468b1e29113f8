/**
 * `npm run soak -- --minutes 5 --seed 7`: a campaign, as long as wanted. The last line is its result in JSON. The history of a
 * round that broke something is kept in `reports/soak`.
 */
import { parseArgs } from 'node:util';
import { runCampaign } from './campaign.js';
import type { Totals } from './totals.js';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '1' },
    seed: { type: 'string' },
  },
});
const seed = Number(values.seed ?? process.env['SEED'] ?? Date.now() % 2 ** 31);
const safety = Number(values.minutes) * 60_000;
if (!(safety > 0) || !Number.isSafeInteger(seed))
  throw new Error('Usage: --minutes <number> --seed <whole number>');

process.stderr.write(`seed ${seed}\n`);
const totals = await runCampaign({
  seed,
  safety,
  liveness: 5_000,
  untilGone: true,
  onProgress,
});
for (const explanation of totals.explanations) process.stderr.write(`${explanation}\n`);
process.stdout.write(`${JSON.stringify(totals)}\n`);
process.exitCode = totals.ok ? 0 : 1;

function onProgress({ begun, rounds, grants, faults, lost, timeouts, errors, excuses, ok }: Totals): void {
  const seconds = (Number(process.hrtime.bigint()) - begun) / 1e9;
  process.stderr.write(
    `${seconds.toFixed(0)} s, round ${rounds}: ${grants} grants (${(grants / seconds).toFixed(0)}/s), ` +
      `${faults['kill'] ?? 0} kills, ${lost} lost, ${timeouts} timeouts, ${errors} errors, excused: ${JSON.stringify(excuses)}` +
      `${ok ? '' : ', BROKEN'}\n`,
  );
}
