import type { MiniRedis } from '../mini-redis/mini-redis.js';

/**
 * The grant that the server honours, read from the lock's hash: (see scripts/includes/now.lua). This is the one
 * place where the checker looks at how the store keeps its data; it sees the server giving a lock up before a second
 * holder does.
 */
export function presentGrant(
  redis: MiniRedis,
  key: string,
): { first: number; last: number; left: number } | 'free' | undefined {
  const [grant, time] = [redis.execute('HGET', [key, 'grant']), redis.execute('TIME', []) as string[]];
  if (typeof grant !== 'string' || grant.startsWith('F')) return 'free';
  const fresh = /^H[^:]+:(\d+) (\d+) \S+ (\d+)/.exec(grant);
  const found = /^R[^:]+:([\d,]+) (\d+) \d+ (\d+) \d+ \S+ (\d+)/.exec(grant);
  const [, run = '', first = '', from = '', lease = ''] = fresh
    ? [fresh[0], fresh[1], fresh[2], fresh[2], fresh[3]]
    : (found ?? []);
  if (first === '') return undefined;
  const now = Number(time[0]) * 1000 + Math.floor(Number(time[1]) / 1000);
  return {
    first: Number(first),
    last: Number(first) + run.split(',').length - 1,
    left: Math.floor(Number(from) / 1000) + Number(lease) - now,
  };
}
