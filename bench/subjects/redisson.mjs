/** Redisson itself: what its fair lock costs where it is at home. The worker is java/src/main/java/Bench.java. */
export default {
  name: 'redisson',
  label: 'Redisson getFairLock (Java)',
  role: 'peer',
  fair: true,
  queues: true,
  crossProcess: true,
  permits: 'Redisson RPermitExpirableSemaphore (Java)',
  readers: 'Redisson RReadWriteLock (Java)',
  java: true,
  commands: ['evalsha', 'eval', 'publish', 'subscribe', 'unsubscribe'],
  setUp:
    'Redisson 4.7.0, getFairLock, lock() with the watchdog; default configuration, but room for 5,000 subscriptions a client (default 250), as each waiting thread needs one; askers are threads',
};
