import { stamp } from './clock.mjs';
import { shares } from './handoffs.mjs';
import { interleaved, summary } from './rounds.mjs';

/** Askers in several processes loop on one lock that several may hold: lock, hold, unlock. */
export const PROCESSES = 4;
export const HOLD = 5;
export const TIME = 4_000;
/** Until all are in the loop, ms. */
const WARM_UP = 800;
/** For the last ones in line, ms. */
const REST = 500;

/**
 * Measures by subject, round by round.
 *
 * @param {import('../environment/lab.mjs').Lab} lab
 * @param {{ name: string, labelledBy: string }} scenario subjects without that label have no such lock
 * @param {readonly object[]} loops which run at the same time in each process: what the worker's verb `share` needs for each
 * @param {(found: ReturnType<typeof shares>[], seconds: number) => object} figures from what each of the loops got
 */
export async function sharedLoops(lab, { name, labelledBy }, loops, figures) {
  const ms = lab.quick ? TIME / 4 : TIME;
  const measure = async (subject, round) => {
    const { found, serverUs } = await oneRound(lab, subject, `${name}-${round}`, loops, ms);
    return { ...figures(found, ms / 1_000), serverUs };
  };
  const subjects = lab.subjects.filter((subject) => subject[labelledBy]);
  const results = await interleaved(lab.rounds(5, 1), subjects, measure, lab.onRound);
  return Object.fromEntries([...results].map(([subject, measured]) => [subject.name, summary(measured)]));
}

async function oneRound(lab, subject, key, loops, ms) {
  const workers = await Promise.all(Array.from({ length: PROCESSES }, () => lab.worker(subject)));
  const run = async (loop) => {
    const args = { key, hold: HOLD, ms: WARM_UP + ms + REST, ...loop };
    const ran = await Promise.all(workers.map((worker) => worker.do('share', args)));
    return ran.map(({ records }) => records);
  };
  try {
    const begin = stamp() + WARM_UP;
    await lab.server.reset();
    const all = await Promise.all(loops.map(run));
    const { usec } = await lab.server.commands(subject);
    return {
      found: all.map((records) => shares(records, begin, ms)),
      serverUs: usec / all.flat(2).length,
    };
  } finally {
    await lab.end(...workers);
    await lab.clear();
  }
}
