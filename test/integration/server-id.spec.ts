import { Redis } from 'ioredis';
import { introduce } from '../../lib/stores/redis-client/server/introduction.js';
import { ServerClocks } from '../../lib/stores/redis-client/server/server-clock.js';
import { startRedisServer, type RedisServer } from '../support/redis.js';

let server: RedisServer;
let client: Redis;

beforeEach(async () => {
  server = await startRedisServer();
  client = new Redis(server.url);
});
afterEach(async () => {
  client.disconnect();
  await server.stop();
});

const id = (): ReturnType<typeof introduce> => introduce(client, new ServerClocks(() => undefined).of(''));

test('M6: a server keeps its id until it is promoted again, which its run id does not show', async () => {
  const before = await id();
  expect(await id()).toEqual(before);
  await client.replicaof('127.0.0.1', server.port);
  await client.replicaof('NO', 'ONE');
  const after = await id();
  expect(after?.runId).toBe(before?.runId);
  expect(after?.primary).not.toBe(before?.primary);
});
