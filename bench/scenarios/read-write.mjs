import { shares } from '../measure/handoffs.mjs';
import { interleaved, summary } from '../measure/rounds.mjs';

const PROCESSES = 4;
/** In each process. */
const READERS = 20;
const WRITERS = 1;
const HOLD = 5;
const TIME = 4_000;
/** Until all are in the loop, ms. */
const WARM_UP = 800;
/** For the last ones in line, ms. */
const REST = 500;

/** @type {import('./index.mjs').Scenario} */
export default {
  name: 'read-write',
  labelledBy: 'readers',
  title: `Readers and writers, ${PROCESSES} processes with ${READERS} and ${WRITERS}`,
  how:
    `For ${TIME / 1_000} s each asker loops: lock, hold ${HOLD} ms, unlock; readers hold together, a writer alone. So readers ask all the time. ` +
    'A process whose writer was never served counts as a wait of the whole time.',

  columns: [
    ['readsPerSecond', 'reads/s'],
    ['writesPerSecond', 'writes/s'],
    ['readP50Ms', 'read wait p50, ms'],
    ['readP999Ms', 'p99.9, ms'],
    ['writeP50Ms', 'write wait p50, ms'],
    ['writeP999Ms', 'p99.9, ms'],
    ['serverUs', 'server, µs a grant'],
  ],

  async run(lab) {
    const subjects = lab.subjects.filter(({ readers }) => readers);
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
    const common = { key: `read-write-${round}`, hold: HOLD, ms: WARM_UP + ms + REST };
    const loop = async (mode, askers) => {
      const loops = await Promise.all(
        workers.map((worker) => worker.do('share', { ...common, mode, askers })),
      );
      return loops.map(({ records }) => records);
    };
    const [reads, writes] = await Promise.all([loop('read', READERS), loop('write', WRITERS)]);
    const { usec } = await lab.server.commands(subject);
    const [read, written] = [reads, writes].map((records) => shares(records, begin, ms));
    return {
      readsPerSecond: (1_000 * read.locks) / ms,
      writesPerSecond: (1_000 * written.locks) / ms,
      readP50Ms: read.waitP50Ms,
      readP999Ms: read.waitP999Ms,
      writeP50Ms: written.waitP50Ms,
      writeP999Ms: written.waitP999Ms,
      serverUs: usec / [...reads, ...writes].flat().length,
    };
  } finally {
    await lab.end(...workers);
    await lab.clear();
  }
}
