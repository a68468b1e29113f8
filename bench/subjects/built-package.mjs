/** The package as it is built, as an application would load it. */
const DIST = new URL('../../dist/esm/', import.meta.url);

export const built = (path, dist = DIST) => import(new URL(path, dist).href);

/** What its stores on Redis have in common as subjects. */
export const ON_REDIS = {
  role: 'ours',
  fair: true,
  queues: true,
  crossProcess: true,
  tellsQueued: true,
  commands: ['evalsha', 'eval'],
};

/** Long enough that no scenario ever runs into it; finite, so that its timer is paid for as by default. */
const WAIT_TIME = 600_000;

const ENGINE_DEFAULTS = {
  waitTime: WAIT_TIME,
  maxQueue: Infinity,
  maxHold: Infinity,
  onLost: 'signal',
  drainTimeout: 10_000,
  reentrant: true,
  onWarning: (message) => console.error(message),
};

/** A client as `FairLockService` is one: an engine on a store of its own. */
export async function openEngine(store, dist = DIST) {
  const { LockEngine } = await built('core/engine/lock-engine.js', dist);
  const engine = new LockEngine(store, ENGINE_DEFAULTS);
  await store.start();
  return {
    async lock(key, options) {
      const held = await engine.service.acquire(key, options);
      return () => held.release();
    },
    close: () => engine.close(),
  };
}
