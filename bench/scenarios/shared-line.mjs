import { setTimeout as sleep } from 'node:timers/promises';
import { interleaved, summary } from '../measure/rounds.mjs';

const CLIENTS = 4;
const HELD = 1_000;
const LINE = 20_000;
const LINE_QUICK = 1_000;
const TIME_LIMIT = 120_000;
/** Heartbeat period of a client with the default options, ms: a third of livenessWindow. */
const HEARTBEAT = 10_000 / 3;
const BEATS = 3;

/** @type {import('./index.mjs').Scenario} */
export default {
  name: 'shared-line',
  title: `A line behind ${HELD} holders`,
  how:
    `${CLIENTS} clients hold ${HELD} permits, and ${LINE} of their requests wait. One permit is released, and passes through the line: each request that is ` +
    'granted releases at once. The other permits stay held. By handoff: server time (INFO commandstats), beside a plain lock with the same line, in the same rounds. ' +
    `Readers: commands by heartbeat of one client that holds ${HELD} reads of a key.`,

  columns: [
    ['plainUs', 'plain lock, µs'],
    ['sharedUs', `${HELD} held, µs`],
    ['byPlain', 'by plain'],
    ['fewUs', '2 permits, µs'],
    ['readersPerHeartbeat', 'readers: commands a heartbeat'],
  ],

  async run(lab) {
    const subjects = lab.these('fair-lock');
    const results = await interleaved(
      lab.rounds(3, 1),
      subjects,
      (subject, round) => measure(lab, subject, round),
      lab.onRound,
    );
    return Object.fromEntries([...results].map(([subject, measured]) => [subject.name, summary(measured)]));
  },
};

async function measure(lab, subject, round) {
  const count = lab.quick ? LINE_QUICK : LINE;
  const plainUs = await drain(lab, subject, `plain-${round}`, count);
  const fewUs = await drain(lab, subject, `few-${round}`, count, 2);
  const sharedUs = await drain(lab, subject, `shared-${round}`, count, HELD);
  return {
    plainUs,
    sharedUs,
    byPlain: sharedUs / plainUs,
    fewUs,
    readersPerHeartbeat: await readers(lab, subject, round),
  };
}

/** Server time of a handoff, µs. */
async function drain(lab, subject, key, count, permits) {
  const worker = await lab.worker(subject, { clients: CLIENTS });
  try {
    const options = permits ? { permits } : {};
    if (permits) await worker.do('shareMany', { key, count: permits - 1, options });
    await worker.do('hold', { key, options });
    await worker.do('enqueue', { key, count, options }, TIME_LIMIT);
    await sleep(5);
    await lab.server.reset();
    await worker.do('drain', { key }, TIME_LIMIT);
    const { usec } = await lab.server.commands(subject);
    return usec / count;
  } finally {
    await lab.end(worker);
    await lab.clear();
  }
}

async function readers(lab, subject, round) {
  const worker = await lab.worker(subject);
  try {
    await worker.do('shareMany', { key: `readers-${round}`, count: HELD, options: { mode: 'read' } });
    await lab.server.reset();
    await sleep(BEATS * HEARTBEAT);
    const { calls } = await lab.server.commands(subject);
    return calls / BEATS;
  } finally {
    await lab.end(worker);
    await lab.clear();
  }
}
