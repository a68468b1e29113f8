import { handoffs } from '../measure/handoffs.mjs';
import { interleaved, summary } from '../measure/rounds.mjs';
import { median, percentile } from '../measure/stats.mjs';

const HOLD = 1;
/** Before the first round, without a hold, ms. */
const WARM_UP = 1_000;

/** @type {import('./index.mjs').Scenario} */
export default {
  name: 'ping-pong',
  title: 'Two processes pass a lock to and fro',
  how:
    `Two processes loop: lock, hold ${HOLD} ms, unlock; so one always waits. Handoff: from the call of release in one process to the grant in ` +
    `the other (one monotonic clock). In "raw", in the same rounds: round trips of a PING by ioredis after a pause of ${HOLD} ms, and how long a ` +
    'bare PUBLISH takes from one process to the other, which answers after the same pause; no message is faster.',

  columns: [
    ['p50Ms', 'p50, ms'],
    ['p99Ms', 'p99, ms'],
    ['bareP50Ms', 'p50 of a bare PUBLISH, ms'],
    ['handoffs', 'handoffs'],
  ],

  async run(lab) {
    const ms = lab.quick ? 500 : 1_200;
    const subjects = lab.quick
      ? lab.these('fair-lock')
      : lab.subjects.filter(({ crossProcess }) => crossProcess);
    const raw = lab.subject('raw');
    const bare = [await lab.worker(raw), await lab.worker(raw)];
    const pairs = new Map();
    for (const subject of subjects)
      pairs.set(subject, [await lab.worker(subject), await lab.worker(subject)]);
    const warmUp = lab.quick ? WARM_UP / 4 : WARM_UP;
    for (const subject of subjects) {
      const args = { key: 'ping-pong-warm-up', hold: 0, ms: warmUp };
      await Promise.all(pairs.get(subject).map((worker) => worker.do('loop', args)));
    }
    await bare[0].do('pings', { pause: 0, ms: warmUp });
    await volley(bare, { pause: 0, ms: warmUp });
    const results = await interleaved(
      lab.rounds(5, 2),
      [...subjects, raw],
      async (subject, round) => {
        if (subject === raw) {
          const { times } = await bare[0].do('pings', { pause: HOLD, ms });
          const thrown = await volley(bare, { pause: HOLD, ms });
          return { p50Ms: median(times), p99Ms: percentile(times, 0.99), bareP50Ms: median(thrown) };
        }
        const args = { key: `ping-pong-${round}`, hold: HOLD, ms };
        const loops = await Promise.all(pairs.get(subject).map((worker) => worker.do('loop', args)));
        const times = handoffs(loops.map(({ records }) => records));
        return { p50Ms: median(times), p99Ms: percentile(times, 0.99), handoffs: times.length };
      },
      lab.onRound,
    );
    await lab.end(...bare, ...[...pairs.values()].flat());
    return Object.fromEntries([...results].map(([subject, measured]) => [subject.name, summary(measured)]));
  },
};

async function volley([one, other], args) {
  const caught = await Promise.all([
    one.do('volley', { from: 'ping', to: 'pong', begins: true, ...args }),
    other.do('volley', { from: 'pong', to: 'ping', ...args }),
  ]);
  return caught.flatMap(({ times }) => times);
}
