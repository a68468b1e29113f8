/** The end of the demo: the figures, for people, and whether all is as promised. */
import { count, seconds } from './screen.mjs';
import { judge } from './verdict.mjs';

/** @returns whether every promise was kept and every order of a living instance answered */
export function summarize(log, screen, delivered) {
  const figures = judge(log.events, delivered);
  const { requests, served, overlaps, inversions, tokensIncreasing, oversold } = figures;
  const lost = log.all('order lost');
  const [killed] = log.all('killed');
  const failed = lost.filter(({ instance }) => instance !== killed?.instance);
  const unanswered = requests - served - lost.length;

  let good = true;
  const row = (name, text, asPromised = true) => {
    good &&= asPromised;
    screen[asPromised ? 'print' : 'alarm'](`  ${name.padEnd(14)}${text}`);
  };

  screen.title('Measured in the event log of all processes');
  row('orders', `${requests} sent, ${served} served`);
  if (killed) {
    const died = lost.length - failed.length;
    row('', `${died} not served: they were with ${killed.instance} when it was killed, and failed with it`);
  }
  for (const { customer, instance, why } of failed)
    row('', `${customer} failed at ${instance}: ${why}`, false);
  if (unanswered > 0) row('', `${unanswered} not answered`, false);

  row('overlaps', `${count(overlaps, 'time')} that two were inside at once`, overlaps === 0);
  const pairs = `${count(inversions, 'pair')} served the other way round than they got in line`;
  row('inversions', pairs, inversions === 0);
  row('tokens', tokensIncreasing ? 'rise with every holder' : 'DO NOT RISE', tokensIncreasing);
  row('oversold', `${oversold}; there were ${delivered} to sell`, oversold === 0);
  if (figures.recoveryMs !== null) {
    row('recovery', `${seconds(figures.recoveryMs)} from the kill to the next one served`);
  }
  row('longest wait', seconds(figures.longestWaitMs));
  for (const { what } of log.all('broken promise')) row('besides', what, false);
  return good;
}
