import { setTimeout as sleep } from 'node:timers/promises';
import { summary } from '../measure/rounds.mjs';

const LOCKS = 10_000;
const RENEWALS = 3;
const SUBJECTS = {
  /** ms from renewal to renewal with the default options: a third of livenessWindow … */
  'fair-lock': 10_000 / 3,
  /** … and of lockWatchdogTimeout, as Redisson does. */
  'fair-lock-redisson': 10_000,
};

/** @type {import('./index.mjs').Scenario} */
export default {
  name: 'renewals',
  slow: true,
  title: `One process holds ${LOCKS} locks`,
  how:
    `Leases of 30 s, through ${RENEWALS} renewals of each: CPU of the holding process as a share of one core, commands by second, the server's CPU. Then through ` +
    `${RENEWALS} more, in turn with these, with a sampler in the process, which takes CPU itself: the event loop's delay, over what the sampling takes. Each renewal is a round.`,

  columns: [
    ['cpuShare', 'CPU of a core'],
    ['loopDelayP99Ms', 'loop delay p99, ms'],
    ['loopDelayMaxMs', 'max, ms'],
    ['commandsPerSecond', 'commands/s'],
    ['commandsPerLock', 'by lock'],
    ['serverCpuShare', 'CPU of the server'],
  ],

  async run(lab) {
    const results = {};
    for (const [name, period] of Object.entries(SUBJECTS)) {
      const [subject] = lab.these(name);
      const worker = await lab.worker(subject);
      await worker.do('holdMany', { prefix: 'renewed', count: LOCKS });
      await sleep(period);
      const rounds = [];
      for (let i = 0; i < RENEWALS; i += 1) rounds.push(await oneRenewal(lab, worker, period));
      results[name] = summary(rounds);
      await lab.end(worker);
      await lab.clear();
    }
    return results;
  },
};

async function oneRenewal(lab, worker, period) {
  await lab.server.reset();
  const before = await lab.server.cpu();
  const { share } = await worker.do('cpu', { ms: period });
  const { calls } = await lab.server.commands(worker.subject);
  const serverCpuShare = ((await lab.server.cpu()) - before) / period;
  const { p99, max } = await worker.do('loopDelay', { ms: period });
  return {
    cpuShare: share,
    loopDelayP99Ms: p99,
    loopDelayMaxMs: max,
    commandsPerSecond: (1_000 * calls) / period,
    commandsPerLock: calls / LOCKS,
    serverCpuShare,
  };
}
