/** The Redis of this test run, found once by `redis.setup.ts`. Tests that break a server start their own. */
import { randomBytes } from 'node:crypto';
import { Redis } from 'ioredis';
import type { RedisServer } from '../../tools/redis-finder.mjs';
import { eventually } from './waiting.js';

/** A busy machine may need far longer than the second that it takes, ms. */
const CATCHING_UP = 30_000;

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

/** A connection for asking and telling a server that is killed on purpose; not for locks. */
export function adminOf(
  { url }: RedisServer,
  options: { password?: string; enableReadyCheck?: boolean } = {},
): Redis {
  const admin = new Redis(url, {
    maxRetriesPerRequest: 0,
    enableOfflineQueue: false,
    retryStrategy: () => 50,
    lazyConnect: true,
    disconnectTimeout: 50, // ioredis waits for so long also for what has been closed
    ...options,
  });
  admin.on('error', () => undefined);
  return admin;
}

/** Starts those again that were killed, and lets those go on that stand still. */
export async function revive(servers: readonly RedisServer[]): Promise<void> {
  for (const server of servers) {
    await server.kill('SIGCONT');
    if (!server.running) await server.restart();
  }
}

/** Also those that stand still. */
export async function stopAll(servers: readonly RedisServer[]): Promise<void> {
  await Promise.all(servers.map((server) => server.kill('SIGCONT')));
  await Promise.all(servers.map((server) => server.stop()));
}

/**
 * Resolves when the replicas have all that their primary has executed. One that has just synchronised gets nothing until its first
 * acknowledgement, which it sends once a second.
 */
export async function caughtUp(
  primary: { readonly admin: Redis },
  replicas: readonly { readonly admin: Redis }[],
): Promise<void> {
  const [, offset] = (await primary.admin.role()) as [string, number];
  const haveAll = async (): Promise<boolean> => {
    const roles = await Promise.all(replicas.map(({ admin }) => admin.role()));
    return roles.every((role) => Number(role[4]) >= offset);
  };
  await eventually(haveAll, CATCHING_UP, 'the replicas to have what the primary has executed');
}

/** The channels that have a listener and belong to one client each, not to all of a database (which `query` asks by). */
export async function clientChannels(admin: Redis, pattern: string): Promise<string[]> {
  const channels = (await admin.pubsub('CHANNELS', pattern)) as string[];
  return channels.filter((channel) => !/:client:db\d+$/.test(channel));
}
