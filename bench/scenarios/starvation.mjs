import { stamp } from '../measure/clock.mjs';
import { shares } from '../measure/handoffs.mjs';
import { interleaved, summary } from '../measure/rounds.mjs';

const PROCESSES = 4;
const HOLD = 5;
const TIME = 6_000;
/** Until all have made their connections and are in the loop, ms. */
const WARM_UP = 800;
/** For the last ones in line, ms. */
const REST = 500;

/** @type {import('./index.mjs').Scenario} */
export default {
  name: 'starvation',
  title: `${PROCESSES} processes loop: lock, ${HOLD} ms, unlock`,
  how:
    `For ${TIME / 1_000} s, each process a loop of its own, after 0.8 s in which all come in: locks of the process that got least and most, spread = (most − least) ` +
    '/ mean, the longest run of one process, waits. A process that was never served counts as one wait of the whole time. Subjects with an order: 5 rounds, others one.',

  columns: [
    ['least', 'least'],
    ['most', 'most'],
    ['spread', 'spread'],
    ['longestRun', 'longest run'],
    ['waitP50Ms', 'wait p50, ms'],
    ['waitP999Ms', 'p99.9, ms'],
    ['holdMs', 'hold, ms'],
  ],

  async run(lab) {
    const subjects = lab.subjects.filter(({ crossProcess }) => crossProcess);
    const fair = subjects.filter((subject) => subject.fair && !(subject.java && lab.quick));
    const others = lab.quick ? [] : subjects.filter((subject) => !subject.fair);
    const ms = lab.quick ? 1_500 : TIME;
    const measure = (subject, round) => starve(lab, subject, round, ms);
    const results = [
      ...(await interleaved(lab.rounds(5, 1), fair, measure, lab.onRound)),
      ...(await interleaved(1, others, measure)),
    ];
    return Object.fromEntries(results.map(([subject, measured]) => [subject.name, summary(measured)]));
  },
};

async function starve(lab, subject, round, ms) {
  const workers = await Promise.all(Array.from({ length: PROCESSES }, () => lab.worker(subject)));
  try {
    const begin = stamp() + WARM_UP;
    const args = { key: `starvation-${round}`, hold: HOLD, ms: WARM_UP + ms + REST };
    const loops = await Promise.all(workers.map((worker) => worker.do('loop', args)));
    const measured = shares(
      loops.map(({ records }) => records),
      begin,
      ms,
    );
    return { ...measured, waitInHolds: measured.waitP999Ms / (PROCESSES * measured.holdMs) };
  } finally {
    await lab.end(...workers);
    await lab.clear();
  }
}
