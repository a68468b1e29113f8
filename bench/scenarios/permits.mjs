import { shares } from '../measure/handoffs.mjs';
import { interleaved, summary } from '../measure/rounds.mjs';

const PROCESSES = 4;
const PERMITS = 10;
/** In each process; all but the holders wait. */
const ASKERS = 53;
const HOLD = 5;
const TIME = 4_000;
/** Until all are in the loop, ms. */
const WARM_UP = 800;
/** For the last ones in line, ms. */
const REST = 500;

/** @type {import('./index.mjs').Scenario} */
export default {
  name: 'permits',
  labelledBy: 'permits',
  title: `${PERMITS} permits, ${PROCESSES} processes with ${ASKERS} askers each`,
  how:
    `For ${TIME / 1_000} s each asker loops: lock, hold ${HOLD} ms, unlock; so about 200 wait all the time. grants/s; spread = (most − least) / mean of ` +
    'the grants of the processes; waits.',

  columns: [
    ['perSecond', 'grants/s'],
    ['spread', 'spread'],
    ['waitP50Ms', 'wait p50, ms'],
    ['waitP999Ms', 'p99.9, ms'],
    ['serverUs', 'server, µs a grant'],
  ],

  async run(lab) {
    const subjects = lab.subjects.filter(({ permits }) => permits);
    const results = await interleaved(
      lab.rounds(5, 1),
      subjects,
      (subject, round) => measure(lab, subject, round, lab.quick ? TIME / 4 : TIME),
      lab.onRound,
    );
    return Object.fromEntries([...results].map(([subject, measured]) => [subject.name, summary(measured)]));
  },
};

/** The host's monotonic clock, the one that the records are stamped with, ms. */
const clock = () => Number(process.hrtime.bigint()) / 1e6;

async function measure(lab, subject, round, ms) {
  const workers = await Promise.all(Array.from({ length: PROCESSES }, () => lab.worker(subject)));
  try {
    const begin = clock() + WARM_UP;
    await lab.server.reset();
    const loops = await Promise.all(
      workers.map((worker) =>
        worker.do('share', {
          key: `permits-${round}`,
          permits: PERMITS,
          askers: ASKERS,
          hold: HOLD,
          ms: WARM_UP + ms + REST,
        }),
      ),
    );
    const { usec } = await lab.server.commands(subject);
    const all = loops.map(({ records }) => records);
    const { locks, spread, waitP50Ms, waitP999Ms } = shares(all, begin, ms);
    return {
      perSecond: (1_000 * locks) / ms,
      spread,
      waitP50Ms,
      waitP999Ms,
      serverUs: usec / all.flat().length,
    };
  } finally {
    await lab.end(...workers);
    await lab.clear();
  }
}
