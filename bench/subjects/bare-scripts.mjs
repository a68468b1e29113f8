import { Redis } from 'ioredis';

/** What our scripts are called with, and what they answer. */
const KEYS = (key) => [`barelock:{${key}}`, `barelock:{${key}}:queue`, `barelock:{${key}}:clients`];
const CLIENT = '0123456789abcdef0123456789abcdef';
const LISTENER = ['0123456789abcdef0123456789abcdef01234567', 123456, 'bench/12345'];
const ACQUIRE = [CLIENT, 1795296005965, 123456, '', 'bench/12345/label', 1795296005965160, ...LISTENER];
const RELEASE = [CLIENT, 1795296005965160, 123456];
const ANSWERS = [
  "return 'GRANTED 1795296005965160 30000 123456 1795296005965160 30000'",
  "return 'RELEASED 1795296005965160'",
];

/** The time, which makes the token; what is there; what shall be there; and that it ends. */
const FOUR_CALLS = `
redis.call('TIME')
redis.call('HGET', KEYS[1], 'state')
redis.call('HSET', KEYS[1], 'state', ARGV[1])
redis.call('PEXPIRE', KEYS[1], '2000')
`;

const bareScripts = (name, label, body) => ({
  name,
  label,
  role: 'floor',
  commands: ['evalsha', 'eval'],
  setUp: `no lock: ${label}, by EVALSHA, with keys, arguments and replies as long as ours, through ioredis with its defaults`,

  async open({ url }) {
    const redis = new Redis(url);
    const load = (answer) => redis.script('LOAD', body + answer);
    const [acquire, release] = await Promise.all(ANSWERS.map(load));
    return {
      async lock(key) {
        const keys = KEYS(key);
        await redis.evalsha(acquire, keys.length, ...keys, ...ACQUIRE);
        return () => redis.evalsha(release, keys.length, ...keys, ...RELEASE);
      },
      close: () => redis.quit(),
    };
  },
});

/** The least that a cycle of two scripts with our keys and arguments can cost, whatever they do. */
export const emptyScripts = bareScripts('empty-scripts', 'two empty scripts', '');

/** The least that a lock with a lease and a fencing token can cost that keeps what it has in one hash. */
export const fourCalls = bareScripts('four-calls', 'two scripts of four bare calls', FOUR_CALLS);
