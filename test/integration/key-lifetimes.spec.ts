import { Redis } from 'ioredis';
import { Random } from '../simulation/world/random.js';
import { redisUrl, uniquePrefix } from '../support/redis.js';
import { ScriptClient } from '../support/script-client.js';

const HOUR = 3_600_000;
/** The hash of an unreleased grant outlives its lease by this, ms; so do the keys of a line a deadline that is far away. */
const RETENTION = 60_000;
/** What may pass between a script's reading of the clock and the test's, ms. */
const SLACK = 5_000;
const COMMANDS = [
  'acquire',
  'again',
  'share',
  'try',
  'bounded',
  'fixed',
  'ahead',
  'beat',
  'leave',
  'release',
  'force',
  'evict',
] as const;

describe('how long the scripts of the native protocol keep keys', () => {
  let redis: Redis;
  let prefix: string;
  const client = (times: { window?: number; lease?: number; maxLease?: number } = {}): ScriptClient =>
    new ScriptClient(redis, prefix, { window: 10_000, lease: 30_000, grace: 250, ...times });

  beforeAll(() => {
    redis = new Redis(redisUrl());
  });
  beforeEach(() => {
    prefix = uniquePrefix();
  });
  afterAll(() => redis.disconnect());

  /** The present grant, as the hash keeps it. */
  const present = async (
    hash: string,
  ): Promise<{ holder: string; first: number; last: number; leaseEnd: number } | undefined> => {
    const fields = await redis.hgetall(hash);
    const { state, holder = '', token, 'last-token': last, since, lease, 'last-end': lastEnd } = fields;
    if (state === undefined) return undefined;
    if (state.startsWith('shared'))
      return { holder: '', first: 0, last: Number(last), leaseEnd: Number(lastEnd) };
    if (state.startsWith('free')) return { holder: '', first: 0, last: Number(last), leaseEnd: 0 };
    return { holder, first: Number(token), last: Number(last), leaseEnd: Number(since) + Number(lease) };
  };

  /** Which keys would be gone before what they hold is. `heartbeats`: of each client by its id, ms. */
  const tooShort = async (
    [hash, queue, clients]: readonly [string, string, string],
    heartbeats: ReadonlyMap<string, number>,
  ): Promise<string[]> => {
    const grant = await present(hash);
    const [hashLeft, queueLeft, clientsLeft] = await Promise.all([
      redis.pttl(hash),
      redis.pttl(queue),
      redis.pttl(clients),
    ]);
    const waiting = await redis.zrange(queue, '0', '-1');
    const ids = waiting.map((member) => member.split(':')[0]!);
    const deadlines = await Promise.all(ids.map(async (id) => Number(await redis.zscore(clients, id))));
    const now = Date.now();
    const found: string[] = [];
    const check = (what: string, left: number, needed: number): void => {
      if (left < needed - SLACK) found.push(`${what} lives for ${left} ms and is needed for ${needed}`);
    };
    if (grant && grant.leaseEnd > now) check('the lease', hashLeft, grant.leaseEnd - now + RETENTION);
    if (grant && grant.last / 1_000 > now) check('the last token', hashLeft, grant.last / 1_000 - now);
    // At the end of a lease all that wait are heard; else they call by their heartbeats, and need their records until then.
    const isFree = grant !== undefined && grant.leaseEnd <= now;
    const longest = Math.max(0, ...ids.map((id) => heartbeats.get(id) ?? 0));
    if (isFree && longest > 0) check('the records of those that wait', hashLeft, longest);
    const latest = Math.max(0, ...deadlines) - now;
    if (latest > 0) {
      // A client with a shorter window sends several heartbeats before that.
      const needed = latest > RETENTION ? latest + RETENTION : RETENTION;
      check('the queue', queueLeft, needed);
      check('the set of clients', clientsLeft, needed);
    }
    return found;
  };

  test('a refused newcomer does not shorten the time to live of a long lease', async () => {
    const [holder, waiter, newcomer] = [client(), client(), client()];
    await holder.acquire({ fixed: HOUR });
    await waiter.acquire();
    await redis.zrem(waiter.keys[2], waiter.id);
    expect((await newcomer.acquire({ maxQueue: 1 })).status).toBe('FULL');
    expect(await redis.pttl(holder.keys[0])).toBeGreaterThan(HOUR);
  });

  test('a client that waits where the line has just been empty keeps the clients for as long as its window', async () => {
    const [one, two] = [client(), client()];
    const first = await one.acquire();
    await two.acquire();
    // The line is empty again: what is known of its clients is left to expire.
    await one.release(first.first, first.sequence);
    expect(await redis.pttl(one.keys[2])).toBeLessThanOrEqual(2_000);
    await one.acquire();
    const second = await two.heartbeat();
    await two.release(second.first, 1);
    await two.acquire();
    expect(await redis.pttl(one.keys[2])).toBeGreaterThan(RETENTION);
  });

  test.each(Array.from({ length: 40 }, (_, seed) => seed))(
    'no command of any client shortens what a lease, a token or a place needs (story %i)',
    async (seed) => {
      const random = new Random(seed);
      // On a server that is new to strict clients, no request is granted for so long.
      const strict = random.chance(0.3) ? { maxLease: 10 * HOUR } : {};
      const clients = [10_000, 240_000, HOUR, 500].map((window) =>
        client({ window, lease: random.pick([3_000, 100_000, 24 * HOUR]), ...strict }),
      );
      const heartbeats = new Map(
        clients.map(({ id, times: { window, lease } }) => [id, Math.min(window, lease) / 3]),
      );
      const [{ keys }] = clients as [ScriptClient];
      const sequences = new Map<ScriptClient, number>();
      const story: string[] = [];
      for (let step = 0; step < 20; step += 1) {
        const one = random.pick(clients);
        const grant = await present(keys[0]);
        const holder = clients.find(({ id }) => id === grant?.holder);
        const first = grant?.first ?? 0;
        const command = random.pick(COMMANDS);
        story.push(`${clients.indexOf(one)} ${command}`);
        if (command === 'acquire') sequences.set(one, (await one.acquire()).sequence);
        if (command === 'again') await one.acquire({ sequence: sequences.get(one) ?? 1 });
        if (command === 'share') await one.acquireShared('p1/2');
        if (command === 'try') await one.acquire({ tries: true });
        if (command === 'bounded') await one.acquire({ maxQueue: random.pick([0, 1, 3]) });
        if (command === 'fixed') await one.acquire({ fixed: random.pick([50, 100_000, 5 * HOUR]) });
        if (command === 'ahead')
          await one.acquire({ highest: (Date.now() + random.pick([1, 30_000, HOUR])) * 1_000 });
        if (command === 'beat') await one.heartbeat(one === holder ? first : 0);
        if (command === 'leave') await one.leave(sequences.get(one) ?? 1);
        if (command === 'release') await holder?.release(first, 1);
        if (command === 'force') await one.forceRelease(first);
        if (command === 'evict') await redis.zrem(keys[2], one.id);
        expect({ story, tooShort: await tooShort(keys, heartbeats) }).toEqual({ story, tooShort: [] });
      }
    },
  );
});
