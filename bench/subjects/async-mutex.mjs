/** What a lock in one process costs at least. */
export default {
  name: 'async-mutex',
  label: 'async-mutex (in process)',
  role: 'bound',
  fair: true,
  queues: true,
  commands: [],
  setUp: 'one Mutex a key, kept',

  async open() {
    const { Mutex } = await import('async-mutex');
    const mutexes = new Map();
    return {
      async lock(key) {
        let mutex = mutexes.get(key);
        if (!mutex) mutexes.set(key, (mutex = new Mutex()));
        const release = await mutex.acquire();
        return async () => release();
      },
      close: async () => {},
    };
  },
};
