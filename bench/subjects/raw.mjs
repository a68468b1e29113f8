import { randomBytes } from 'node:crypto';
import { Redis } from 'ioredis';

const LEASE = 30_000;
const RELEASE = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`;

/** The floor: what every lock with a lease has to do at least. It cannot wait. */
export default {
  name: 'raw',
  label: 'raw SET NX PX',
  role: 'floor',
  commands: ['set', 'evalsha', 'eval'],
  setUp:
    'SET key id NX PX 30000, and a compare-and-delete script by EVALSHA, through ioredis with its defaults',

  async open({ url }) {
    const redis = new Redis(url);
    redis.defineCommand('releaseRaw', { numberOfKeys: 1, lua: RELEASE });
    await redis.ping();
    let sequence = 0;
    const self = randomBytes(16).toString('hex');
    return {
      async lock(key) {
        const id = `${self}:${(sequence += 1)}`;
        if ((await redis.set(key, id, 'PX', LEASE, 'NX')) !== 'OK') throw new Error('raw cannot wait');
        return () => redis.releaseRaw(key, id);
      },
      ping: () => redis.ping(),
      publish: (channel, text) => redis.publish(channel, text),
      async subscribe(channel, listener) {
        const subscriber = redis.duplicate();
        subscriber.on('message', (_, text) => listener(text));
        await subscriber.subscribe(channel);
        return () => subscriber.disconnect();
      },
      close: () => redis.quit(),
    };
  },
};
