import { interleaved, summary } from '../measure/rounds.mjs';
import { TookTooLong } from '../measure/worker.mjs';

const KILLED = [1, 5, 100, 1_000];
const MOST_PROCESSES = 5;
/** Nobody is waited for longer, ms: a figure of so much means "at least". */
const PATIENCE = 10_000;

/** Each of Redisson's dead waiters costs its whole patience; more of them would only be more of it. */
const MOST_KILLED = { redisson: 5, 'fair-lock-redisson': 5 };

/** @type {import('./index.mjs').Scenario} */
export default {
  name: 'dead-waiters',
  title: 'A live waiter behind k killed ones',
  how:
    `A process holds the lock, k requests of up to ${MOST_PROCESSES} processes wait, one more waits in a process of its own; the k are killed ` +
    '(SIGKILL), then the holder releases. From the call of release to the grant, ms; after ' +
    `${PATIENCE / 1_000} s nobody waits any longer ("at least"). Rounds: 5 of ours, else 1.`,

  columns: [
    ['servedMs1', 'k = 1, ms'],
    ['servedMs5', '5'],
    ['servedMs100', '100'],
    ['servedMs1000', '1,000'],
  ],

  async run(lab) {
    const subjects = lab.subjects.filter(({ crossProcess }) => crossProcess);
    const results = {};
    for (const subject of subjects) {
      const measures = (results[subject.name] = {});
      if (lab.quick && subject.role !== 'ours') continue;
      for (const k of lab.quick ? [1, 5, 100] : KILLED) {
        if (k > (MOST_KILLED[subject.name] ?? Infinity)) continue;
        const first = await behind(lab, subject, k, 0);
        const more = lab.quick || subject.role !== 'ours' || first.servedMs >= PATIENCE ? 0 : 4;
        const rest = await interleaved(more, [subject], (_, round) => behind(lab, subject, k, round + 1));
        const { servedMs } = summary([first, ...rest.get(subject)]);
        measures[`servedMs${k}`] = servedMs;
      }
    }
    return results;
  },
};

async function behind(lab, subject, k, round) {
  const key = `dead-${k}-${round}`;
  const processes = Math.min(k, MOST_PROCESSES);
  const [holder, alive, ...doomed] = await Promise.all(
    Array.from({ length: processes + 2 }, () => lab.worker(subject)),
  );
  try {
    await holder.do('hold', { key });
    for (const worker of doomed) await worker.do('enqueue', { key, count: k / processes });
    await alive.do('enqueue', { key, count: 1 });
    await lab.end(...doomed);
    const served = alive.do('drained', { key }, PATIENCE);
    const [{ at }, { firstAt }] = await Promise.all([holder.do('release', { key }), served]);
    return { servedMs: firstAt - at };
  } catch (error) {
    if (error instanceof TookTooLong) return { servedMs: PATIENCE };
    throw error;
  } finally {
    await lab.end(holder, alive, ...doomed);
    await lab.clear();
  }
}
