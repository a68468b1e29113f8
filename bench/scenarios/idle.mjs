const MANY = 10_000;
/** The longest period after which any of them renews its locks (redis-semaphore: 0.8 × 30 s). */
const PERIOD = 24_000;
/** For a subject that renews nothing: a longer time would show no more. */
const WITHOUT_RENEWING = 3_000;

/** @type {import('./index.mjs').Scenario} */
export default {
  name: 'idle',
  question: 'While nothing happens',
  how:
    'One process holds 10,000 locks for 24 s: its commands and CPU, the CPU of Redis, and the memory of ' +
    'each lock in the process (after garbage collection) and in Redis. raw does not renew: such ' +
    'a lock is lost after 30 s, and it is measured for 3 s. Then the memory of each of 10,000 callers that wait for one lock, for libraries that do not poll.',
  subjects: ['raw', 'ours', 'before', 'redis-semaphore'],
  rounds: 1,
  columns: {
    perSecond: 'commands/s',
    clientShare: 'client, % of a core',
    serverShare: 'Redis, % of a core',
    lockHeap: 'bytes a lock: client',
    lockBytes: 'Redis',
    waiterHeap: 'bytes a waiter: client',
    waiterBytes: 'Redis',
  },

  async measure(lab, subject) {
    const period = subject.name === 'raw' ? WITHOUT_RENEWING : PERIOD;
    const ms = lab.quick ? Math.min(period, 4_000) : period;
    const holder = await lab.worker(subject);
    const held = await bytes(lab, subject, holder, () => holder.ask('holdMany', { count: MANY }));
    const idle = await lab.gauge(subject, () => holder.ask('idle', { ms }));
    await lab.clear();
    const many = subject.tellsQueued ? await waiters(lab, subject) : {};
    return {
      perSecond: (1_000 * idle.commands) / ms,
      clientShare: idle.cpuUs / ms / 10,
      serverShare: idle.serverUs / ms / 10,
      lockHeap: held.heap / MANY,
      lockBytes: held.server / MANY,
      waiterHeap: many.heap && many.heap / MANY,
      waiterBytes: many.server && many.server / MANY,
    };
  },
};

async function waiters(lab, subject) {
  const [holder, worker] = [await lab.worker(subject), await lab.worker(subject)];
  await holder.ask('hold', { key: 'awaited' });
  const enqueue = () => worker.ask('enqueue', { key: 'awaited', count: MANY });
  return await bytes(lab, subject, worker, enqueue);
}

async function bytes(lab, subject, worker, work) {
  const before = await worker.ask('memory');
  const { serverBytes } = await lab.gauge(subject, work);
  const after = await worker.ask('memory');
  return { heap: after.heap - before.heap, server: serverBytes };
}
