import { setTimeout as sleep } from 'node:timers/promises';
import { interleaved, summary } from '../measure/rounds.mjs';

/** What the longest of them leaves behind a released lock goes within 2 × commandTimeout, ms; and one second. */
const REST = 3_000;
const NAMES = 100_000;
/** Of fewer keys the size does not show in used_memory. */
const FEW = 100;

/** @type {import('./index.mjs').Scenario} */
export default {
  name: 'memory',
  title: 'Memory in Redis for names that were locked once',
  how:
    '100,000 distinct names (peers: 10,000) are locked and released, 64 at a time. keysAtOnce: keys in Redis right after the last release; bytesPerName: used_memory more than ' +
    `before, by these keys; keysAfterRest and bytesAfterRest: the same ${REST / 1_000} s later, by name (the hash tables that Redis has not yet shrunk count in).`,

  columns: [
    ['keysAtOnce', 'keys at once'],
    ['bytesPerName', 'bytes a key'],
    ['keysAfterRest', 'keys after rest'],
    ['bytesPerNameAfterRest', 'bytes a name after rest'],
  ],

  async run(lab) {
    const subjects = lab.subjects.filter(
      ({ crossProcess, name, java }) => (crossProcess || name === 'raw') && !java,
    );
    const some = lab.quick ? lab.these('fair-lock') : subjects;
    const workers = await lab.sharedWorkers(some);
    const many = (subject) => !lab.quick && subject.role !== 'peer';
    const measure = (subject) => lockedOnce(lab, workers.get(subject), many(subject) ? NAMES : NAMES / 10);
    const results = await interleaved(1, some, measure, lab.onRound);
    return Object.fromEntries([...results].map(([subject, rounds]) => [subject.name, summary(rounds)]));
  },
};

async function lockedOnce(lab, worker, names) {
  await lab.clear();
  await worker.do('cycles', { prefix: 'warm', concurrency: 64, count: 64 });
  await lab.clear();
  const before = await lab.server.usedMemory();
  await worker.do('cycles', { prefix: 'name', concurrency: 64, count: names, fresh: true });
  const keys = await lab.server.redis.dbsize();
  const atOnce = (await lab.server.usedMemory()) - before;
  await sleep(REST);
  return {
    keysAtOnce: keys,
    bytesPerName: keys >= FEW ? atOnce / keys : 0,
    keysAfterRest: await lab.server.redis.dbsize(),
    bytesPerNameAfterRest: ((await lab.server.usedMemory()) - before) / names,
  };
}
