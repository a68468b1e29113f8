import { lineUp } from './lines.mjs';

/** Processes, sections of each, ms of each section. */
const ROWS = [
  [1, 40, 5],
  [1, 40, 20],
  [1, 40, 50],
  [1, 200, 5],
  [4, 40, 5],
  [4, 40, 20],
];

const nameOf = ([processes, sections, ms]) => `${processes} × ${sections}, ${ms} ms`;

/** @type {import('./index.mjs').Scenario} */
export default {
  name: 'rows',
  question: 'Sections that wait together',
  how:
    'Callers of one or four processes wait for one key (processes × callers of each, and how long each holds it). Its holder releases it, and they are served: the commands ' +
    'for all of them, and the server time for each.',
  subjects: ['ours', 'before'],
  rounds: 2,
  columns: Object.fromEntries(
    ROWS.flatMap((row) => [
      [`${nameOf(row)} commands`, `${nameOf(row)}: commands`],
      [`${nameOf(row)} µs`, 'µs'],
    ]),
  ),

  async measure(lab, subject) {
    const found = {};
    for (const row of ROWS) {
      const [processes, sections, hold] = row;
      const count = processes * sections;
      const { holder, waiting } = await lineUp(lab, subject, { processes, count, hold });
      const { commands, commandsUs } = await lab.gauge(subject, async () => {
        const served = waiting.map((worker) => worker.ask('served'));
        await holder.ask('release');
        await Promise.all(served);
      });
      found[`${nameOf(row)} commands`] = commands;
      found[`${nameOf(row)} µs`] = commandsUs / count;
      await lab.clear();
    }
    return found;
  },
};
