import { median, percentile } from '../report.mjs';

const HOLD = 1;

/** @type {import('./index.mjs').Scenario} */
export default {
  name: 'handoff',
  question: 'From one process to another',
  how:
    'Two processes lock one key, hold it for 1 ms and unlock it, without a pause, so one of them always ' +
    'waits. The time runs from the call of release in one process to the grant in the other. The floor is ' +
    'a bare message: from `PUBLISH` in one process to its arrival in the other.',
  subjects: ['raw', 'ours', 'before', 'redis-semaphore', 'murlock'],
  labels: { raw: 'a bare `PUBLISH`' },
  rounds: 3,
  columns: { p50: 'p50, ms', p99: 'p99, ms' },

  async measure(lab, subject) {
    const pair = [await lab.worker(subject), await lab.worker(subject)];
    const throws = subject.name === 'raw' ? volley : passes;
    await throws(pair, 500, 'warm');
    const times = await throws(pair, lab.quick ? 500 : 1_500, 'measured');
    return { p50: median(times), p99: percentile(times, 0.99) };
  },
};

async function volley([one, other], ms, name) {
  const caught = await Promise.all([
    one.ask('volley', { from: `${name}-ping`, to: `${name}-pong`, pause: HOLD, ms, begins: true }),
    other.ask('volley', { from: `${name}-pong`, to: `${name}-ping`, pause: HOLD, ms }),
  ]);
  return caught.flatMap(({ times }) => times);
}

async function passes(pair, ms, key) {
  const found = await Promise.all(
    pair.map((worker) => worker.ask('share', { key, callers: 1, hold: HOLD, ms })),
  );
  const holds = found
    .flatMap(({ records }, process) => records.map((record) => ({ ...record, process })))
    .sort((a, b) => a.granted - b.granted);
  const times = [];
  for (const [i, hold] of holds.entries()) {
    const before = holds[i - 1];
    // It went to another process that was waiting.
    if (before && before.process !== hold.process && hold.asked < before.released)
      times.push(hold.granted - before.released);
  }
  return times;
}
