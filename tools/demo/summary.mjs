/** The end of the demo: the figures, for people, and whether all is as promised. */
import { count, seconds } from './screen.mjs';
import { judge } from './verdict.mjs';

/** @returns the figures, and `good`: whether everything was as it should be */
export function summarize(log, screen, delivered) {
  const figures = judge(log.events, delivered);
  const { requests, served, overlaps, inversions, tokensIncreasing, oversold, recoveryMs, longestWaitMs } =
    figures;
  const [killed] = log.all('killed');
  const lost = log.all('order lost');
  const failed = lost.filter(({ instance }) => instance !== killed?.instance);

  const say = (name, text, good = true) => screen[good ? 'say' : 'alarm'](`  ${name.padEnd(14)}${text}`);
  screen.title('Measured in the event log of all processes');
  say('orders', `${requests} sent, ${served} served`);
  if (killed) {
    const { instance } = killed;
    say(
      '',
      `${lost.length - failed.length} not served: they were with ${instance} when it was killed, and failed with it`,
    );
  }
  for (const { customer, instance, why } of failed)
    say('', `${customer} failed at ${instance}: ${why}`, false);
  say('overlaps', `${count(overlaps, 'time')} that two were inside at once`, overlaps === 0);
  say(
    'inversions',
    `${count(inversions, 'pair')} served the other way round than they got in line`,
    inversions === 0,
  );
  say(
    'tokens',
    tokensIncreasing ? 'rise with every holder' : 'DO NOT RISE with every holder',
    tokensIncreasing,
  );
  say('oversold', `${oversold}; there were ${delivered} to sell`, oversold === 0);
  if (recoveryMs !== null) say('recovery', `${seconds(recoveryMs)} from the kill to the next one served`);
  say('longest wait', seconds(longestWaitMs));

  const faultless = overlaps === 0 && inversions === 0 && oversold === 0 && tokensIncreasing;
  const complete = failed.length === 0 && served + lost.length === requests;
  if (!complete)
    say('incomplete', `${requests - served - lost.length + failed.length} orders got no answer`, false);
  return { figures, good: faultless && complete };
}
