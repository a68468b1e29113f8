import { setTimeout as sleep } from 'node:timers/promises';
import { interleaved, summary } from '../measure/rounds.mjs';
import { sum } from '../measure/stats.mjs';

const ASKERS = 1_000;
const PROCESSES = 4;
/** Until all are in line, and compiled, ms; a JVM's thousand threads take longer. */
const WARM_UP = 1_200;
const WARM_UP_OF_JAVA = 6_000;

/** @type {import('./index.mjs').Scenario} */
export default {
  name: 'hot-key',
  title: `One hot key: ${ASKERS} askers in one process, and over ${PROCESSES} processes`,
  how:
    `${ASKERS} askers lock and unlock one key without a pause and without a hold; counted after 1.2 s (Java: 6 s) of warm-up. Cycles by second, script runs by cycle ` +
    '(INFO commandstats), the longest wait of those who were served; refused: how often an asker got an error instead of the lock, and asked again; over 4 processes the longest wait of the process that was treated worst. Each round in ' +
    'new processes. Beside it, in the same rounds, raw with 64 askers on keys of their own. Subjects without an order: one round.',

  columns: [
    ['cyclesPerSecond', '1 process, /s'],
    ['scriptRuns', 'runs'],
    ['longestWaitMs', 'longest wait, ms'],
    ['refused', 'refused'],
    ['cyclesPerSecondIn4', '4 processes, /s'],
    ['scriptRunsIn4', 'runs'],
    ['longestWaitMsIn4', 'longest wait, ms'],
    ['refusedIn4', 'refused'],
    ['shareOfTheLeastServedIn4', 'share of the least served'],
  ],

  async run(lab) {
    const ms = lab.quick ? 500 : 1_500;
    // A JVM takes longer to warm up than --quick may take.
    const subjects = lab.subjects.filter(({ role, java }) => role !== 'floor' && !(java && lab.quick));
    const shared = subjects.filter(({ crossProcess }) => crossProcess);
    const results = await rounds(lab, [...subjects, lab.subject('raw')], (subject) =>
      subject.role === 'floor' ? ownKeys(lab, subject) : hot(lab, subject, 1, ms),
    );
    const several = await rounds(lab, shared, (subject) => hot(lab, subject, PROCESSES, ms));
    return Object.fromEntries(
      [...results].map(([subject, measured]) => [
        subject.name,
        {
          ...summary(measured),
          ...renamed(summary(several.get(subject) ?? []), (name) => `${name}In${PROCESSES}`),
        },
      ]),
    );
  },
};

/** What has no order is known from one round: it is not compared. */
async function rounds(lab, subjects, measure) {
  const compared = subjects.filter(({ fair, role }) => fair || role === 'floor');
  const others = subjects.filter((subject) => !compared.includes(subject));
  return new Map([
    ...(await interleaved(lab.rounds(5, 1), compared, measure, lab.onRound)),
    ...(lab.quick ? [] : await interleaved(1, others, measure)),
  ]);
}

async function hot(lab, subject, processes, ms) {
  const workers = await Promise.all(Array.from({ length: processes }, () => lab.worker(subject)));
  try {
    await lab.clear();
    const warmUp = subject.java ? WARM_UP_OF_JAVA : lab.quick ? WARM_UP / 2 : WARM_UP;
    const args = { key: 'hot', askers: ASKERS / processes, warmUp, ms };
    const loops = Promise.all(workers.map((worker) => worker.do('hot', args)));
    const [each] = await Promise.all([loops, sleep(warmUp).then(() => lab.server.reset())]);
    const { scriptRuns, calls } = await lab.server.commands(subject);
    const cycles = sum(each.map((one) => one.cycles));
    return {
      cyclesPerSecond: (1_000 * cycles) / ms,
      scriptRuns: cycles > 0 ? scriptRuns / cycles : NaN,
      commands: cycles > 0 ? calls / cycles : NaN,
      refused: sum(each.map((one) => one.refused)),
      longestWaitMs: Math.max(...each.map((one) => one.longestWait)),
      shareOfTheLeastServed:
        cycles > 0 ? (Math.min(...each.map((one) => one.cycles)) * processes) / cycles : NaN,
    };
  } finally {
    await lab.end(...workers);
  }
}

async function ownKeys(lab, subject) {
  const worker = await lab.worker(subject);
  try {
    const cycles = (count) => worker.do('cycles', { prefix: 'own', concurrency: 64, count });
    await cycles(3_000);
    const { ms, cycles: done } = await cycles(20_000);
    return { cyclesPerSecond: (1_000 * done) / ms };
  } finally {
    await lab.end(worker);
  }
}

const renamed = (measures, rename) =>
  Object.fromEntries(Object.entries(measures).map(([name, value]) => [rename(name), value]));
