import { interleaved, once, summary } from '../measure/rounds.mjs';
import { median } from '../measure/stats.mjs';

const SUBJECTS = ['fair-lock', 'four-calls', 'empty-scripts', 'raw'];
const ROUNDS = 11;
const CYCLES = 400;
const WARM_UP = 3_000;

/** @type {import('./index.mjs').Scenario} */
export default {
  name: 'anatomy',
  slow: true,
  title: 'What a cycle on a free lock is made of',
  how:
    'One at a time, as above, in µs of wall clock by cycle, acquire and release together: JavaScript from the call to the write, the write (a system ' +
    'call), from there to the first byte of the answer (network, server, being woken), JavaScript from there to the caller. Medians of the cycles, then of the rounds. ' +
    'Then which share of the cycles client and server were on one CPU (Linux tells), and the median cycle where they were, and where they were on two.',

  columns: [
    ['beforeUs', 'call to write'],
    ['writeUs', 'write'],
    ['waitUs', 'write to answer'],
    ['afterUs', 'answer to caller'],
    ['cycleUs', 'cycle'],
    ['onOneCpu', 'on one CPU'],
    ['cycleOnOneCpuUs', 'cycle then'],
    ['cycleOnTwoCpusUs', 'on two CPUs'],
  ],

  async run(lab) {
    const subjects = lab.these(...SUBJECTS);
    // Of its own: from now on their sockets are watched.
    const results = await lab.withWorkers(subjects, {}, async (workers) => {
      const serverPid = await lab.server.processId();
      const cycles = (subject, count) =>
        workers.get(subject).do('anatomy', { key: 'anatomy', count, serverPid });
      for (const subject of subjects) await cycles(subject, WARM_UP);
      const measure = (subject) => cycles(subject, CYCLES);
      return interleaved(lab.rounds(ROUNDS), subjects, measure, lab.onRound);
    });
    return Object.fromEntries(
      [...results].map(([subject, rounds]) => [
        subject.name,
        { ...summary(rounds.map(({ parts }) => parts)), ...byPlacement(rounds) },
      ]),
    );
  },
};

/** Over all rounds: how they fell is chance, and a round may have only one kind. */
function byPlacement(rounds) {
  const blocks = rounds.flatMap((round) => round.blocks);
  const cycles = (together) => blocks.filter((block) => block.together === together).map(({ us }) => us);
  const [one, two] = [cycles(true), cycles(false)];
  const measures = {};
  if (one.length + two.length > 0) measures.onOneCpu = once(one.length / (one.length + two.length));
  if (one.length > 0) measures.cycleOnOneCpuUs = once(median(one));
  if (two.length > 0) measures.cycleOnTwoCpusUs = once(median(two));
  return measures;
}
