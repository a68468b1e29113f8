import { findRedis, type FoundRedis } from '../../tools/redis-finder.mjs';

/** Jest loads setup and teardown apart; what they share hangs on the one global they have in common. */
export type GlobalWithRedis = typeof globalThis & { fairLockTestRedis?: FoundRedis };

export default async function setup(): Promise<void> {
  const redis = await findRedis();
  (globalThis as GlobalWithRedis).fairLockTestRedis = redis;
  process.env['REDIS_URL'] = redis.url; // the workers inherit it
}
