/**
 * What is measured. Each waits for its lock as long as it takes, and has the settings that its users have if they set nothing.
 *
 * @typedef {object} Subject
 * @property {string} label for people
 * @property {string} setUp how it is set up here
 * @property {readonly string[]} sends the commands that its clients send; what scripts call is inside their time
 * @property {string} [package] the build of this package that it is
 * @property {boolean} [tellsQueued] calls `onQueued` when a request is in line
 * @property {(url: string) => Promise<Client>} [open] without: nothing is locked
 *
 * @typedef {object} Client
 * @property {<T>(key: string, section: () => Promise<T>, options?: object) => Promise<T>} withLock
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

const LEASE = 30_000;
/** Longer than any measurement; finite, so that its timer is paid for as by default. */
const WAIT = 600_000;
/** Between two tries of a subject that cannot wait. */
const POLL = 10;

const RELEASE = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`;

const raw = {
  label: 'raw `SET NX`',
  setUp: `\`SET key id NX PX ${LEASE}\` and a compare-and-delete script, through ioredis. It keeps no order, never renews, and cannot wait: here it tries every ${POLL} ms`,
  sends: ['set', 'evalsha', 'eval', 'publish'],

  async open(url) {
    const { Redis } = await import('ioredis');
    const redis = new Redis(url);
    redis.defineCommand('releaseRaw', { numberOfKeys: 1, lua: RELEASE });
    await redis.ping();
    const self = randomUUID();
    let sequence = 0;
    return {
      async withLock(key, section) {
        const id = `${self}:${(sequence += 1)}`;
        while ((await redis.set(key, id, 'PX', LEASE, 'NX')) !== 'OK') await sleep(POLL);
        try {
          return await section();
        } finally {
          await redis.releaseRaw(key, id);
        }
      },
      publish: (channel, text) => redis.publish(channel, text),
      async subscribe(channel, listener) {
        const subscriber = redis.duplicate();
        subscriber.on('message', (_, text) => listener(text));
        await subscriber.subscribe(channel);
      },
    };
  },
};

const fairLock = (name, label) => ({
  label,
  setUp: 'all options at their defaults, but a `waitTime` of ten minutes',
  sends: ['evalsha', 'eval'],
  package: name,
  tellsQueued: true,

  async open(url) {
    const { createFairLock } = await import(`${name}/standalone`);
    // What it warns of is meant here: long holds, long waits.
    const locks = await createFairLock({ redis: url, waitTime: WAIT }, () => {});
    return { withLock: (key, section, options) => locks.withLock(key, section, options) };
  },
});

const redisSemaphore = {
  label: 'redis-semaphore',
  setUp: `\`Mutex\`, or \`Semaphore\` for permits, of 30 s with its own renewing; it tries every 10 ms (default), without end`,
  sends: ['set', 'evalsha', 'eval'],

  async open(url) {
    const { Redis } = await import('ioredis');
    const { Mutex, Semaphore } = await import('redis-semaphore');
    const redis = new Redis(url);
    await redis.ping();
    const settings = { lockTimeout: LEASE, acquireTimeout: Infinity, onLockLost: () => {} };
    return {
      async withLock(key, section, { permits } = {}) {
        const lock = permits ? new Semaphore(redis, key, permits, settings) : new Mutex(redis, key, settings);
        await lock.acquire();
        try {
          return await section();
        } finally {
          await lock.release();
        }
      },
    };
  },
};

const murlock = {
  label: 'murlock',
  setUp:
    '`runWithLock` of 30 s in a Nest application context, `blocking: true` with a try every 100 ms, without logs',
  sends: ['eval', 'evalsha', 'set'],

  async open(url) {
    await import('reflect-metadata');
    const { NestFactory } = await import('@nestjs/core');
    const { MurLockModule, MurLockService } = await import('murlock');
    const settings = { redisOptions: { url }, wait: 100, maxAttempts: 1, logLevel: 'none', blocking: true };
    const app = await NestFactory.createApplicationContext(MurLockModule.forRoot(settings), {
      logger: false,
    });
    const service = app.get(MurLockService);
    return { withLock: (key, section) => service.runWithLock(key, LEASE, section) };
  },
};

/** @type {Record<string, Subject>} */
export const SUBJECTS = {
  bare: { label: 'no lock, no module', setUp: 'the route alone', sends: [] },
  raw,
  ours: fairLock('fair-lock-ours', 'nestjs-fair-lock'),
  before: fairLock('fair-lock-before', 'nestjs-fair-lock, before'),
  'redis-semaphore': redisSemaphore,
  murlock,
};
