const CALLERS = 20;
/** The first needs as many grants as possible, so its code must be compiled before it is measured. ms. */
const SECTIONS = [
  { hold: 0, warmUp: 2_000 },
  { hold: 1, warmUp: 200 },
  { hold: 5, warmUp: 200 },
];

/** @type {import('./index.mjs').Scenario} */
export default {
  name: 'hot-key',
  question: 'One hot key',
  how:
    `${CALLERS} callers in one process, or ${CALLERS} in each of two, lock one key, hold it for 0, 1 or 5 ms and unlock it, without a ` +
    'pause. Grants a second: a section of 1 ms allows about 900, because timers fire late.',
  subjects: ['ours', 'before', 'redis-semaphore'],
  rounds: 3,
  columns: {
    one0: '1 process, 0 ms: grants/s',
    one1: '1 ms',
    one5: '5 ms',
    two0: '2 processes, 0 ms: grants/s',
    two1: '1 ms',
    two5: '5 ms',
  },

  async measure(lab, subject) {
    const one = await lab.worker(subject);
    const alone = await grants(lab, [one]);
    const both = await grants(lab, [one, await lab.worker(subject)]);
    const [one0, one1, one5, two0, two1, two5] = [...alone, ...both];
    return { one0, one1, one5, two0, two1, two5 };
  },
};

/** Grants a second for each section. */
async function grants(lab, workers) {
  const found = [];
  for (const { hold, warmUp } of SECTIONS) {
    const share = (ms) =>
      Promise.all(workers.map((worker) => worker.ask('share', { key: 'hot', callers: CALLERS, hold, ms })));
    await share(lab.quick ? 200 : warmUp);
    const ms = lab.quick ? 300 : 600;
    const served = await share(ms);
    found.push((1_000 * served.reduce((sum, { records }) => sum + records.length, 0)) / ms);
  }
  return found;
}
