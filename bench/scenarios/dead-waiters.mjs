import { summary } from '../measure/rounds.mjs';
import { TookTooLong } from '../measure/worker.mjs';

const KILLED = [1, 5, 100, 1_000];
/** Without a line there is nothing that the dead could block. */
const KILLED_WITHOUT_LINE = [1, 100];
const MOST_PROCESSES = 4;
const ROUNDS = 5;
/** The longest wait that is measured, ms: a figure of this size means "at least". */
const TIME_LIMIT = 10_000;

/** Each of Redisson's dead waiters costs its whole time limit; more of them would only be more of it. */
const MOST_KILLED = { redisson: 5, 'fair-lock-redisson': 5 };

/** @type {import('./index.mjs').Scenario} */
export default {
  name: 'dead-waiters',
  title: 'A live waiter behind k killed ones',
  how:
    `A process holds the lock, k requests of up to ${MOST_PROCESSES} processes wait, one more waits in a process of its own; the k are killed ` +
    '(SIGKILL), then the holder releases. From the call of release to the grant, ms; after ' +
    `${TIME_LIMIT / 1_000} s the measurement ends ("at least"). Rounds: 5 of ours, else 1.`,

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
      const most = MOST_KILLED[subject.name] ?? (lab.quick ? 100 : Infinity);
      for (const k of (subject.queues ? KILLED : KILLED_WITHOUT_LINE).filter((count) => count <= most)) {
        const rounds = [await behind(lab, subject, k, 0)];
        const again = !lab.quick && subject.role === 'ours' && rounds[0].servedMs < TIME_LIMIT;
        while (again && rounds.length < lab.rounds(ROUNDS))
          rounds.push(await behind(lab, subject, k, rounds.length));
        measures[`servedMs${k}`] = summary(rounds).servedMs;
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
    for (const [i, worker] of doomed.entries()) {
      const count = Math.floor((k + i) / processes);
      await worker.do('enqueue', { key, count });
    }
    await alive.do('enqueue', { key, count: 1 });
    await lab.end(...doomed);
    const served = alive.do('drained', { key }, TIME_LIMIT);
    const [{ at }, { firstAt }] = await Promise.all([holder.do('release', { key }), served]);
    return { servedMs: firstAt - at };
  } catch (error) {
    if (error instanceof TookTooLong) return { servedMs: TIME_LIMIT };
    throw error;
  } finally {
    await lab.end(holder, alive, ...doomed);
    await lab.clear();
  }
}
