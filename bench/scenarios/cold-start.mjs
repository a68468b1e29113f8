/** @type {import('./index.mjs').Scenario} */
export default {
  name: 'cold-start',
  question: 'A new process',
  how:
    'From the start of Node until the client is connected, including the import of its library; then its ' +
    'first cycle. murlock needs a Nest application context; nestjs-fair-lock runs without Nest here.',
  subjects: ['raw', 'ours', 'before', 'redis-semaphore', 'murlock'],
  rounds: 3,
  columns: { openMs: 'connected, ms', firstMs: 'first cycle, ms', rss: 'memory, MB' },

  async measure(lab, subject) {
    const worker = await lab.worker(subject);
    const { ms: firstMs } = await worker.ask('cycles', { callers: 1, count: 1 });
    const { rss } = await worker.ask('memory');
    return { openMs: worker.ready.sinceStart, firstMs, rss: rss / 2 ** 20 };
  },
};
