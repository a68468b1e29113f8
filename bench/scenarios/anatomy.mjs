import { interleaved, summary } from '../measure/rounds.mjs';

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
    'call), from there to the first byte of the answer (network, server, being woken), JavaScript from there to the caller. Medians of the cycles, then of the rounds.',

  columns: [
    ['beforeUs', 'call to write'],
    ['writeUs', 'write'],
    ['waitUs', 'write to answer'],
    ['afterUs', 'answer to caller'],
    ['cycleUs', 'cycle'],
  ],

  async run(lab) {
    const subjects = lab.these(...SUBJECTS);
    // Of its own: from now on their sockets are watched.
    const results = await lab.withWorkers(subjects, {}, async (workers) => {
      const cycles = (subject, count) => workers.get(subject).do('anatomy', { key: 'anatomy', count });
      for (const subject of subjects) await cycles(subject, WARM_UP);
      const measure = (subject) => cycles(subject, CYCLES);
      return interleaved(ROUNDS, subjects, measure, lab.onRound);
    });
    return Object.fromEntries([...results].map(([subject, rounds]) => [subject.name, summary(rounds)]));
  },
};
