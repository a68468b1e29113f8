import { interleaved, summary } from '../measure/rounds.mjs';

const CALLS = 200;

/** @type {import('./index.mjs').Scenario} */
export default {
  name: 'cold-start',
  title: 'The first calls of a process',
  how: `The total time of the first ${CALLS} cycles of a process that has just connected, one after the other on a key that nothing else uses. Each round starts a new process.`,

  columns: [['firstMs', `first ${CALLS}, ms`]],

  async run(lab) {
    const subjects = lab.these('fair-lock', 'raw', 'redis-semaphore', 'murlock', 'redlock');
    const measure = (subject) =>
      lab.withWorkers([subject], {}, async (workers) => {
        const { ms } = await workers
          .get(subject)
          .do('cycles', { prefix: 'cold', concurrency: 1, count: CALLS });
        return { firstMs: ms };
      });
    const results = await interleaved(lab.rounds(11, 3), subjects, measure, lab.onRound);
    return Object.fromEntries(subjects.map((subject) => [subject.name, summary(results.get(subject))]));
  },
};
