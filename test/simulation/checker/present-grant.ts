import type { MiniRedis } from '../mini-redis/mini-redis.js';

/**
 * The grant that the server honours, read from the lock's hash: `client first run since end label`. This is the one
 * place where the checker looks at how the store keeps its data; it sees the server giving a lock up before a second
 * holder does.
 */
export function presentGrant(
  redis: MiniRedis,
  key: string,
): { first: number; last: number; left: number } | 'free' | undefined {
  const [grant, time] = [redis.execute('HGET', [key, 'grant']), redis.execute('TIME', []) as string[]];
  if (typeof grant !== 'string' || grant === '') return 'free';
  const found = /^\S+ (\d+) ([\d,]+) \d+ (\d+)/.exec(grant);
  if (!found) return undefined;
  const [, first = '', run = '', end = ''] = found;
  const now = Number(time[0]) * 1000 + Math.floor(Number(time[1]) / 1000);
  return {
    first: Number(first),
    last: Number(first) + run.split(',').length - 1,
    left: Number(end) - now,
  };
}
