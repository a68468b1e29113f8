import { percentile } from '../report.mjs';

const CLIENTS = 2;
const HOLD = 5;
const PERMITS = 10;
const PERMIT_CALLERS = 32;
const READERS = 20;
const WARM_UP = 500;

/** Both clients run `loops` at the same time. @returns the records of each loop by client, and what it cost */
async function share(lab, subject, loops) {
  const workers = [];
  for (const loop of loops)
    for (let client = 0; client < CLIENTS; client += 1)
      workers.push({ ...loop, worker: await lab.worker(subject) });
  const run = async (ms) => {
    const one = async ({ worker, name, callers, options }) => {
      const { records, cpuUs } = await worker.ask('share', {
        key: 'shared',
        callers,
        hold: HOLD,
        ms,
        options,
      });
      return { name, records, cpuUs };
    };
    return { found: await Promise.all(workers.map(one)) };
  };
  const ms = lab.quick ? 1_000 : 2_000;
  await run(WARM_UP);
  const { found, commandsUs } = await lab.gauge(subject, () => run(ms));
  const grants = found.flatMap(({ records }) => records).length;
  const clientUs = found.reduce((total, { cpuUs }) => total + cpuUs, 0);
  const of = (name) => {
    const counts = found.filter((loop) => loop.name === name).map(({ records }) => records.length);
    const all = found.filter((loop) => loop.name === name).flatMap(({ records }) => records);
    const waits = all.map(({ asked, granted }) => granted - asked);
    return {
      perSecond: (1_000 * all.length) / ms,
      p50: percentile(waits, 0.5),
      p99: percentile(waits, 0.99),
      leastServed: (100 * Math.min(...counts)) / all.length,
    };
  };
  return { of, clientUs: clientUs / grants, commandsUs: commandsUs / grants };
}

/** For scale. */
async function freeCycle(lab, subject) {
  const count = 20_000;
  const worker = await lab.worker(subject);
  await worker.ask('cycles', { callers: PERMIT_CALLERS, count });
  const found = await lab.gauge(subject, () => worker.ask('cycles', { callers: PERMIT_CALLERS, count }));
  return { clientUs: found.cpuUs / count, commandsUs: found.commandsUs / count };
}

const RAW = { raw: 'raw, free keys' };

/** @type {import('./index.mjs').Scenario} */
export const permits = {
  name: 'permits',
  question: `${PERMITS} permits`,
  how:
    '2 processes with 32 callers each; each call holds one of 10 permits for 5 ms. CPU of both processes ' +
    'for each grant. Least served: the share of the process that got fewer grants; 50 % is fair.',
  subjects: ['raw', 'ours', 'before', 'redis-semaphore'],
  labels: { ...RAW, 'redis-semaphore': 'redis-semaphore `Semaphore`' },
  rounds: 3,
  columns: {
    clientUs: 'client CPU, µs a grant',
    commandsUs: 'server time, µs',
    perSecond: 'grants/s',
    p50: 'wait p50, ms',
    p99: 'p99, ms',
    leastServed: 'least served, %',
  },

  async measure(lab, subject) {
    if (subject.name === 'raw') return freeCycle(lab, subject);
    const loop = { name: 'permits', callers: PERMIT_CALLERS, options: { permits: PERMITS } };
    const { of, ...costs } = await share(lab, subject, [loop]);
    return { ...costs, ...of('permits') };
  },
};

/** @type {import('./index.mjs').Scenario} */
export const readers = {
  name: 'readers',
  question: 'Readers and writers',
  how:
    '2 processes with 20 readers each and 2 with one writer each. All ask again without a pause, and hold ' +
    'the lock for 5 ms. CPU of all processes for each grant.',
  subjects: ['raw', 'ours', 'before'],
  labels: RAW,
  rounds: 3,
  columns: {
    clientUs: 'client CPU, µs a grant',
    commandsUs: 'server time, µs',
    reads: 'reads/s',
    readP99: 'read wait p99, ms',
    writes: 'writes/s',
    writeP99: 'write wait p99, ms',
  },

  async measure(lab, subject) {
    if (subject.name === 'raw') return freeCycle(lab, subject);
    const { of, ...costs } = await share(lab, subject, [
      { name: 'read', callers: READERS, options: { mode: 'read' } },
      { name: 'write', callers: 1 },
    ]);
    const [read, write] = [of('read'), of('write')];
    return {
      ...costs,
      reads: read.perSecond,
      readP99: read.p99,
      writes: write.perSecond,
      writeP99: write.p99,
    };
  },
};
