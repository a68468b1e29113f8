/** The Redis of this test run, found once by `redis.setup.ts`. Tests that break a server start their own. */
import { randomBytes } from 'node:crypto';

export {
  freePort,
  redisServerBinary,
  startRedisServer,
  type RedisServer,
} from '../../tools/redis-finder.mjs';

export function redisUrl(): string {
  const url = process.env['REDIS_URL'];
  if (url === undefined)
    throw new Error('REDIS_URL is set by test/support/redis.setup.ts: run this file by jest.');
  return url;
}

/** A key prefix that no other test file has: they share one server and run side by side. */
export function uniquePrefix(): string {
  return `test-${randomBytes(6).toString('hex')}`;
}
