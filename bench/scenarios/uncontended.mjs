import { startDelay } from '../environment/delay.mjs';
import { interleaved, summary } from '../measure/rounds.mjs';

/** What a network inside one data centre adds to loopback, ms. */
const ROUND_TRIP = 0.25;

const LOADS = [
  { name: 'one', concurrency: 1, cycles: 400 },
  { name: 'sixtyFour', concurrency: 64, cycles: 3_200 },
];
/** Cycles before the first round, at each load. */
const WARM_UP = 1_500;
/** And in the workers of the delayed part, which by then have done nothing else: until all is compiled. */
const WARM_UP_DELAYED = 12_000;
/** --quick does so much less in a round. */
const QUICK = 4;

/** @type {import('./index.mjs').Scenario} */
export default {
  name: 'uncontended',
  title: 'A free lock: acquire and release',
  how:
    'Each asker has a key of its own, in one process, on one client; one at a time: the median cycle in µs of wall clock; 64 at once: µs that the ' +
    `throughput leaves for each. "delayed" is the same, one at a time, through a TCP front that adds ${ROUND_TRIP} ms of round trip. All subjects in ` +
    'every round, in an order that changes; medians of the rounds; ratios and differences are taken round by round.',

  columns: [
    ['oneUs', '1 at a time, µs'],
    ['delayedUs', '+ 0.25 ms, µs'],
    ['sixtyFourUs', '64 at once, µs'],
    ['sixtyFourPerSecond', '64 at once, /s'],
  ],

  async run(lab) {
    const rounds = lab.rounds(13, 4);
    const part = lab.quick ? QUICK : 1;
    const workers = await lab.sharedWorkers(lab.subjects);
    for (const subject of lab.subjects) {
      await cycles(workers.get(subject), 64, WARM_UP / part);
      await cycles(workers.get(subject), 1, WARM_UP / part);
    }
    const measure = (subject) => allLoads(workers.get(subject), part);
    const results = await interleaved(rounds, lab.subjects, measure, lab.onRound);
    const delayed = await this.delayed(lab, lab.rounds(25, 4), part);
    return Object.fromEntries(
      lab.subjects.map((subject) => [
        subject.name,
        { ...summary(results.get(subject)), ...summary(delayed.get(subject) ?? []) },
      ]),
    );
  },

  async delayed(lab, rounds, part) {
    const subjects = lab.quick
      ? lab.these('fair-lock', 'raw')
      : lab.subjects.filter(({ crossProcess, role }) => crossProcess || role === 'floor');
    const front = await startDelay(lab.url, ROUND_TRIP);
    try {
      return await lab.withWorkers(subjects, { url: front.url }, async (workers) => {
        for (const worker of workers.values()) {
          await cycles(worker, 64, WARM_UP_DELAYED / part);
          await cycles(worker, 1, 100);
        }
        return interleaved(rounds, subjects, async (subject) => ({
          delayedUs: await cycles(workers.get(subject), 1, 80),
        }));
      });
    } finally {
      await front.stop();
    }
  },
};

async function allLoads(worker, part) {
  const measures = {};
  for (const { name, concurrency, cycles: count } of LOADS) {
    measures[`${name}Us`] = await cycles(worker, concurrency, count / part);
  }
  measures.sixtyFourPerSecond = 1e6 / measures.sixtyFourUs;
  return measures;
}

/** µs a cycle: one at a time the median cycle, else what the throughput leaves for each. */
async function cycles(worker, concurrency, count) {
  const { ms, cycles: done, p50 } = await worker.do('cycles', { prefix: 'own', concurrency, count });
  return concurrency === 1 ? 1_000 * p50 : (1_000 * ms) / done;
}
