import { HOLD, PROCESSES, sharedLoops, TIME } from '../measure/shared-loops.mjs';

/** In each process. */
const READERS = 20;
const WRITERS = 1;

/** @type {import('./index.mjs').Scenario} */
const scenario = {
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

  run: (lab) =>
    sharedLoops(
      lab,
      scenario,
      [
        { mode: 'read', askers: READERS },
        { mode: 'write', askers: WRITERS },
      ],
      ([read, written], seconds) => ({
        readsPerSecond: read.locks / seconds,
        writesPerSecond: written.locks / seconds,
        readP50Ms: read.waitP50Ms,
        readP999Ms: read.waitP999Ms,
        writeP50Ms: written.waitP50Ms,
        writeP999Ms: written.waitP999Ms,
      }),
    ),
};

export default scenario;
