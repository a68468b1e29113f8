import { Redis } from 'ioredis';

/** What our scripts are called with, without what they do. */
const KEYS = (key) => [`fairlock:{${key}}`, `fairlock:{${key}}:queue`, `fairlock:{${key}}:clients`];
const ME = '0123456789abcdef0123456789abcdef:123456';
const TERMS = '10000 70000 0123456789abcdef0123456789abcdef01234567 123456 bench/12345 10000 250 64 2000';
const ACQUIRE = [ME, '1795296005965', '30000 bench/12345', '90000', `1795296005965160 - 0 wait -1 ${TERMS}`];
const RELEASE = [ME, '1795296005965160', '2000', `- idle ${TERMS}`];

/** No lock: the least that a cycle of two scripts with our keys and arguments can cost, whatever they do. */
export default {
  name: 'empty-scripts',
  label: 'two empty scripts',
  role: 'floor',
  commands: ['evalsha', 'eval'],
  setUp:
    'no lock: two EVALSHA of a script that returns a text, with keys, arguments and replies as long as ours, through ioredis with its defaults',

  async open({ url }) {
    const redis = new Redis(url);
    const [acquire, release] = await Promise.all(
      ["return 'GRANTED 1795296005965160'", "return 'RELEASED 1795296005965160 -1'"].map((lua) =>
        redis.script('LOAD', lua),
      ),
    );
    return {
      async lock(key) {
        const keys = KEYS(key);
        await redis.evalsha(acquire, keys.length, ...keys, ...ACQUIRE);
        return () => redis.evalsha(release, keys.length, ...keys, ...RELEASE);
      },
      close: () => redis.quit(),
    };
  },
};
