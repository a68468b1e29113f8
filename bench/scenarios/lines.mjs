import { setTimeout as sleep } from 'node:timers/promises';

const PROCESSES = 4;
/** The longest wait that is measured, ms. */
const LIMIT = 10_000;
export const KEY = 'line';

/** Behind a process that holds the lock, `count` callers of some processes wait, to hold it for `hold` ms. @param settings.clients in all of them; by default one in each */
export async function lineUp(lab, subject, { count, processes = PROCESSES, clients = processes, hold = 0 }) {
  const holder = await lab.worker(subject);
  await holder.ask('hold', { key: KEY });
  const waiting = [];
  for (let i = 0; i < processes; i += 1) waiting.push(await lab.worker(subject));
  const args = { key: KEY, count: count / processes, clients: clients / processes, hold };
  await Promise.all(waiting.map((worker) => worker.ask('enqueue', args)));
  return { holder, waiting };
}

/** @type {import('./index.mjs').Scenario} */
export const longLine = {
  name: 'long-line',
  question: 'A long queue',
  how:
    'Callers in 4 processes wait for one key. Its holder releases it, and each caller that is served ' +
    'releases it immediately. The time from one release to the next grant, and the server time of the ' +
    'commands. Out of turn: served before another caller of the same process that had asked earlier.',
  subjects: ['raw', 'ours', 'before', 'redis-semaphore', 'murlock'],
  rounds: 3,
  columns: {
    ms100: '100 wait: ms a handoff',
    server100: 'server time, µs',
    outOfTurn100: 'out of turn, %',
    ms10000: '10,000 wait: ms a handoff',
    server10000: 'server time, µs',
    outOfTurn10000: 'out of turn, %',
  },

  async measure(lab, subject) {
    const short = await drain(lab, subject, 100);
    await lab.clear();
    // Libraries that poll would do nothing else with this many.
    const long = subject.tellsQueued ? await drain(lab, subject, 10_000) : {};
    return {
      ms100: short.ms,
      server100: short.commandsUs,
      outOfTurn100: short.outOfTurn,
      ms10000: long.ms,
      server10000: long.commandsUs,
      outOfTurn10000: long.outOfTurn,
    };
  },
};

async function drain(lab, subject, count) {
  const { holder, waiting } = await lineUp(lab, subject, { count });
  const { begun, lines, commandsUs } = await lab.gauge(subject, async () => {
    const served = waiting.map((worker) => worker.ask('served'));
    const { at } = await holder.ask('release');
    return { begun: at, lines: (await Promise.all(served)).map(({ times }) => times) };
  });
  const outOfTurn = lines.reduce((total, times) => total + overtaking(times), 0);
  return {
    ms: (Math.max(...lines.flat()) - begun) / count,
    commandsUs: commandsUs / count,
    outOfTurn: (100 * outOfTurn) / count,
  };
}

/** How many were served before one that had asked earlier. @param {readonly number[]} times in the order of asking */
function overtaking(times) {
  let latest = 0;
  return times.filter((time) => time < (latest = Math.max(latest, time))).length;
}

/** @type {import('./index.mjs').Scenario} */
export const deadWaiters = {
  name: 'dead-waiters',
  question: 'Behind killed waiters',
  how:
    'Callers in 4 processes wait for one key, and behind them one caller in another process. The 4 ' +
    'processes are killed (SIGKILL), then the holder releases: the time from there to the grant. 10,000 ' +
    'means at least ten seconds.',
  subjects: longLine.subjects,
  rounds: 1,
  columns: { after100: '100 killed, ms', after1000: '1,000 killed, ms' },

  async measure(lab, subject) {
    const after = async (killed) => {
      const delay = await behind(lab, subject, killed);
      await lab.clear();
      return delay;
    };
    return {
      after100: await after(100),
      // Who polls has no line that the dead could block.
      after1000: subject.tellsQueued ? await after(1_000) : undefined,
    };
  },
};

async function behind(lab, subject, killed) {
  const alive = await lab.worker(subject);
  const { holder, waiting } = await lineUp(lab, subject, { count: killed });
  await alive.ask('enqueue', { key: KEY, count: 1 });
  await Promise.all(waiting.map((worker) => worker.kill()));
  const { at } = await holder.ask('release');
  const never = sleep(LIMIT, { times: [Infinity] }, { ref: false });
  const { times } = await Promise.race([alive.ask('served'), never]);
  return Math.min(times[0] - at, LIMIT);
}
