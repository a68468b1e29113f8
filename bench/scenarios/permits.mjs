import { HOLD, PROCESSES, sharedLoops, TIME } from '../measure/shared-loops.mjs';

const PERMITS = 10;
/** In each process; all but the holders wait. */
const ASKERS = 53;

/** @type {import('./index.mjs').Scenario} */
const scenario = {
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

  run: (lab) =>
    sharedLoops(
      lab,
      scenario,
      [{ permits: PERMITS, askers: ASKERS }],
      ([{ locks, spread, waitP50Ms, waitP999Ms }], seconds) => ({
        perSecond: locks / seconds,
        spread,
        waitP50Ms,
        waitP999Ms,
      }),
    ),
};

export default scenario;
