import { Redis } from 'ioredis';
import { redisUrl, uniquePrefix } from '../support/redis.js';
import { within } from '../support/waiting.js';
import { Instance, type Release } from './instance.js';

const INSTANCES = 3;
/** How many articles each instance sells before the next is replaced. */
const SALES = 15;
/** Starts of Node with Nest, and sales by polled locks, beside whatever else the machine does. */
const STEP = 120_000;

describe.each(['murlock', 'redlock', 'redis-semaphore'])('An application that leaves %s', (name) => {
  let article: string;
  let redis: Redis;
  const started: Instance[] = [];

  beforeEach(() => {
    article = uniquePrefix();
    redis = new Redis(redisUrl());
  });

  afterEach(async () => {
    for (const instance of started.splice(0)) instance.kill();
    await redis.quit();
  });

  const start = (release: Release): Instance => {
    const instance = new Instance(name, release, article);
    started.push(instance);
    return instance;
  };

  /** Replaces the instances one after the other while all of them sell, as a rolling update does. */
  const roll = async (running: readonly Instance[], release: Release): Promise<Instance[]> => {
    const next: Instance[] = [];
    for (const old of running) {
      const instance = start(release);
      next.push(instance);
      await within(instance.sells(SALES), STEP, `a sale of the release "${release}"`);
      await within(old.stop(), STEP, 'the end of an old instance');
    }
    await within(Promise.all(next.map((each) => each.sells(SALES))), STEP, 'sales of all');
    return next;
  };

  it('never has two sections at once: first its own lock, then both for one release, then ours', async () => {
    const before = Array.from({ length: INSTANCES }, () => start('before'));
    await within(Promise.all(before.map((each) => each.sells(SALES))), STEP, 'sales of the old release');
    const both = await roll(before, 'both');
    const after = await roll(both, 'after');
    await within(Promise.all(after.map((each) => each.stop())), STEP, 'the end');

    expect(started.flatMap(({ failures }) => failures)).toEqual([]);
    const sold = started.reduce((sum, each) => sum + each.sold, 0);
    expect({
      overlaps: started.reduce((sum, each) => sum + each.overlaps, 0),
      // What each section read and wrote: a lost update shows here even if the counter above missed it.
      sold: Number(await redis.get(`sold:${article}`)),
    }).toEqual({ overlaps: 0, sold });
    expect(sold).toBeGreaterThanOrEqual(3 * INSTANCES * SALES);
  }, 400_000);

  it('would have two sections at once without the release that takes both', async () => {
    const before = start('before');
    const after = start('after');
    await within(Promise.race([before.overlapping(), after.overlapping()]), STEP, 'an overlap');
    await Promise.all([before.stop(), after.stop()]);
    expect(before.overlaps + after.overlaps).toBeGreaterThan(0);
  }, 200_000);
});
