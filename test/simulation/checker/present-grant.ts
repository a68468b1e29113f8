import type { MiniRedis } from '../mini-redis/mini-redis.js';

/** The one place where the checker looks at how the store keeps its data (scripts/includes/now.lua says how). */

/**
 * The grant that the server honours, read from the lock's hash. The checker sees the server giving a lock up before a
 * second holder does.
 */
export function presentGrant(
  redis: MiniRedis,
  key: string,
): { first: number; last: number; left: number } | 'free' | undefined {
  const [grant, time] = [redis.execute('HGET', [key, 'grant']), redis.execute('TIME', []) as string[]];
  if (typeof grant !== 'string' || /^[FV]/.test(grant)) return 'free';
  const byClock = /^[HW][^:]+:(\d+) (\d+) \S+ (\d+)/.exec(grant);
  const found = /^R[^:]+:([\d,]+) (\d+) \d+ (\d+) \d+ \S+ (\d+)/.exec(grant);
  const [, run = '', first = '', from = '', lease = ''] = byClock
    ? [byClock[0], byClock[1], byClock[2], byClock[2], byClock[3]]
    : (found ?? []);
  if (first === '') return undefined;
  return {
    first: Number(first),
    last: Number(first) + run.split(',').length - 1,
    left: Math.floor(Number(from) / 1000) + Number(lease) - serverMs(time),
  };
}

/** The liveness deadline that lies furthest ahead, as ms from now; undefined where nobody waits. */
export function furthestDeadline(redis: MiniRedis, key: string): number | undefined {
  const found = redis.execute('ZREVRANGE', [`${key}:clients`, '0', '0', 'WITHSCORES']) as string[];
  const time = redis.execute('TIME', []) as string[];
  return found[1] === undefined ? undefined : Number(found[1]) - serverMs(time);
}

function serverMs(time: readonly string[]): number {
  return Number(time[0]) * 1000 + Math.floor(Number(time[1]) / 1000);
}
