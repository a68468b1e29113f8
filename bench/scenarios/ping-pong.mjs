import { handoffs } from '../measure/handoffs.mjs';
import { interleaved, summary } from '../measure/rounds.mjs';
import { median, percentile } from '../measure/stats.mjs';

const HOLD = 1;

/** @type {import('./index.mjs').Scenario} */
export default {
  name: 'ping-pong',
  title: 'Two processes pass a lock to and fro',
  how:
    `Two processes loop: lock, hold ${HOLD} ms, unlock; so one always waits. Handoff: from the call of release in one process to the grant in ` +
    `the other (one monotonic clock). PING: round trips of a PING by ioredis after a pause of ${HOLD} ms, in the same rounds (in "raw").`,

  columns: [
    ['p50Ms', 'p50, ms'],
    ['p99Ms', 'p99, ms'],
    ['handoffs', 'handoffs'],
  ],

  async run(lab) {
    const ms = lab.quick ? 500 : 1_200;
    const subjects = lab.quick
      ? lab.these('fair-lock')
      : lab.subjects.filter(({ crossProcess }) => crossProcess);
    const raw = lab.subject('raw');
    const pinger = await lab.worker(raw);
    const pairs = new Map();
    for (const subject of subjects)
      pairs.set(subject, [await lab.worker(subject), await lab.worker(subject)]);
    const results = await interleaved(
      lab.quick ? 3 : 5,
      [...subjects, raw],
      async (subject, round) => {
        if (subject === raw) {
          const { times } = await pinger.do('pings', { pause: HOLD, ms });
          return { p50Ms: median(times), p99Ms: percentile(times, 0.99) };
        }
        const args = { key: `ping-pong-${round}`, hold: HOLD, ms };
        const loops = await Promise.all(pairs.get(subject).map((worker) => worker.do('loop', args)));
        const times = handoffs(loops.map(({ records }) => records));
        return { p50Ms: median(times), p99Ms: percentile(times, 0.99), handoffs: times.length };
      },
      lab.onRound,
    );
    await lab.end(pinger, ...[...pairs.values()].flat());
    return Object.fromEntries([...results].map(([subject, measured]) => [subject.name, summary(measured)]));
  },
};
