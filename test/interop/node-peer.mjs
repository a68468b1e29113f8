/**
 * The `redisson` store, driven line by line: the Node half of the interop tests. Same arguments, same input and same
 * output as the Java half, redisson/src/main/java/Peer.java; a worker has no thread here, so `name` is not understood, and `keep` is
 * of Node only.
 */
import { register } from 'node:module';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { Cluster } from 'ioredis';
import { StallWatch } from '../support/stall-watch.mjs';

register('../support/ts-hooks.mjs', import.meta.url);
const { RedissonLockStore } = await import('../../lib/stores/redisson/redisson-lock-store.ts');
const { Wait } = await import('../../lib/core/port/wait.ts');
const { LockTimeoutError } = await import('../../lib/core/errors/errors.ts');

const [address, kind, lockWatchdogTimeout, fairLockWaitTimeout] = process.argv.slice(2);
const store = new RedissonLockStore({
  redis: kind === 'cluster' ? new Cluster([address], { lazyConnect: true }) : address,
  lockWatchdogTimeout: Number(lockWatchdogTimeout),
  fairLockWaitTimeout: Number(fairLockWaitTimeout),
  commandTimeout: 1_000,
  onWarning: (message) => report('main', 'warned', message),
});
const watch = new StallWatch((ms) => write('process', 'stall', Math.round(ms)));
/** The grant that each worker has. */
const grants = new Map();

const verbs = {
  lock: async (worker, key, leaseTime) => {
    await acquire(worker, key, Infinity, leaseTime);
    report(worker, 'granted');
  },
  tryLock: async (worker, key, waitTime, leaseTime) => {
    try {
      await acquire(worker, key, waitTime, leaseTime);
      report(worker, 'granted');
    } catch (error) {
      if (!(error instanceof LockTimeoutError)) throw error;
      report(worker, 'refused');
    }
  },
  take: async (worker, key, hold) => {
    await acquire(worker, key, Infinity);
    report(worker, 'granted');
    await sleep(hold);
    report(worker, 'ending');
    await grants.get(worker).release();
    report(worker, 'released');
  },
  unlock: async (worker) => {
    if (grants.get(worker).lease.state === 'lost') throw grants.get(worker).lease.lostError;
    await grants.get(worker).release();
    report(worker, 'released');
  },
  /** Ends the grant; nobody gets the lock before `keep` ms from the grant. */
  keep: async (worker, _key, keep) => {
    await grants.get(worker).release(keep);
    report(worker, 'released');
  },
  held: (worker) => {
    const state = grants.get(worker)?.lease.state;
    report(worker, 'held', String(state === 'held' || state === 'uncertain'));
  },
  force: async (worker, key) => report(worker, 'forced', String(await store.forceRelease(key))),
};

async function acquire(worker, key, waitTime, leaseTime) {
  const request = { key, waitTime, maxQueue: Infinity, label: worker, leaseTime };
  const grant = await store.acquire(new Wait(request));
  grant.lease.onLost(() => report(worker, 'lost'));
  grants.set(worker, grant);
}

/** First, that this process was given no core, if so: what is said now may be late by it. */
function report(worker, event, details) {
  watch.look();
  write(worker, event, details);
}

function write(worker, event, details = '') {
  process.stdout.write(`${worker} ${event} ${process.hrtime.bigint()} ${details}\n`);
}

await store.start();
report('main', 'ready');

/** A worker does one thing after the other. */
const queues = new Map();
for await (const line of createInterface({ input: process.stdin })) {
  const [worker, verb, key, ...numbers] = line.split(' ');
  const before = queues.get(worker) ?? Promise.resolve();
  const run = () => verbs[verb](worker, key, ...numbers.map(Number));
  const done = before.then(run).catch((error) => report(worker, 'failed', error.message));
  queues.set(worker, done);
}
process.exit();
