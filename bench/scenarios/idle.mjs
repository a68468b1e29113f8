import { setTimeout as sleep } from 'node:timers/promises';
import { once } from '../measure/rounds.mjs';

/** Heartbeat period of a waiting client with the default options, ms: a third of livenessWindow. */
const HEARTBEAT = 10_000 / 3;
/** Of the holder, who is silent: its lease is fixed, and outlasts the measurement. */
const FIXED_LEASE = 600_000;

const LOADS = [
  { name: 'oneLock', locks: 1, waiters: 1_000 },
  { name: 'hundredLocks', locks: 100, waiters: 10 },
];
/** Those that poll are asked for what one of their waiters costs. */
const PEER_LOAD = { name: 'oneLock', locks: 1, waiters: 100 };
const PEER_TIME = 3_000;

/** @type {import('./index.mjs').Scenario} */
export default {
  name: 'idle',
  title: 'Waiters of one client, and nothing happens',
  how:
    'A silent holder (another client, with a fixed lease); 1,000 waiters of one client at one lock, then 10 at each of 100 locks. Commands that ' +
    'reach the server in a little less than 6 heartbeats (default options: 20 s), by second, by lock and heartbeat, by waiter and second. Peers: 100 waiters at one lock for 3 s.',

  columns: [
    ['oneLockPerSecond', 'one lock, /s'],
    ['oneLockPerLockAndHeartbeat', 'by heartbeat'],
    ['oneLockPerWaiterAndSecond', 'by waiter and s'],
    ['hundredLocksPerSecond', '100 locks, /s'],
    ['hundredLocksPerLockAndHeartbeat', 'by lock and heartbeat'],
  ],

  async run(lab) {
    const results = {};
    for (const subject of lab.subjects.filter(({ crossProcess }) => crossProcess)) {
      if (lab.quick && subject.name !== 'fair-lock') continue;
      const measures = (results[subject.name] = {});
      const ours = subject.name === 'fair-lock';
      for (const load of ours ? LOADS.slice(0, lab.quick ? 1 : undefined) : [PEER_LOAD]) {
        const beats = lab.quick ? 1 : 6;
        const ms = ours ? beats * HEARTBEAT - 300 : PEER_TIME;
        Object.assign(measures, await idle(lab, subject, load, ms));
      }
    }
    return results;
  },
};

async function idle(lab, subject, { name, locks, waiters }, ms) {
  const [holder, waiting] = await Promise.all([lab.worker(subject), lab.worker(subject)]);
  const keys = Array.from({ length: locks }, (_, i) => `idle-${i}`);
  try {
    for (const key of keys) {
      await holder.do('hold', { key, ...(subject.role === 'ours' && { leaseTime: FIXED_LEASE }) });
      await waiting.do('enqueue', { key, count: waiters });
    }
    await lab.server.reset();
    await sleep(ms);
    const { calls } = await lab.server.commands(subject);
    const perSecond = (1_000 * calls) / ms;
    return {
      [`${name}PerSecond`]: once(perSecond),
      [`${name}PerLockAndHeartbeat`]: once(calls / Math.ceil(ms / HEARTBEAT) / locks),
      [`${name}PerWaiterAndSecond`]: once(perSecond / locks / waiters),
    };
  } finally {
    await lab.end(holder, waiting);
    await lab.clear();
  }
}
