import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Redis } from 'ioredis';
import { redisUrl, uniquePrefix } from '../support/redis.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { deferred, eventually, pause, within, SOON } from '../support/waiting.js';

const OPTIONS = {
  lazyConnect: true,
  retryStrategy: null,
  maxRetriesPerRequest: 0,
  autoResubscribe: false,
  disconnectTimeout: 50, // else a timer stays for two seconds when a closed connection is disconnected
} as const;
/** For what should not happen: long against a round trip on loopback. */
const A_WHILE = 60;

/** What it does that a test of the lock would not miss: there a lock that notices nothing looks right. */
describe('the TCP proxy in front of Redis', () => {
  let proxy: TcpProxy;
  let direct: Redis;
  const key = uniquePrefix();
  const clients: Redis[] = [];
  const client = async (): Promise<Redis> => {
    const redis = new Redis(proxy.url, OPTIONS);
    redis.on('error', () => undefined);
    clients.push(redis);
    await redis.connect();
    return redis;
  };

  beforeEach(async () => {
    proxy = await TcpProxy.start(redisUrl());
    direct = new Redis(redisUrl());
  });
  afterEach(async () => {
    for (const redis of clients.splice(0)) redis.disconnect();
    direct.disconnect();
    await proxy.close();
    await eventually(() => proxy.connections === 0, SOON, 'the end of all connections');
  });

  test('hides through a black hole that a client has gone', async () => {
    const redis = await client();
    await redis.client('SETNAME', key);
    const named = async (): Promise<boolean> => String(await direct.client('LIST')).includes(`name=${key} `);
    const heal = proxy.blackHole();
    redis.disconnect();
    await pause(A_WHILE);
    expect(await named()).toBe(true);
    heal();
    await eventually(async () => !(await named()), SOON, 'the end of the connection at the server');
  });

  test('closes one half of a connection; the other works on', async () => {
    const socket: Socket = connect({ port: Number(new URL(proxy.url).port), allowHalfOpen: true });
    await once(socket, 'connect');
    await eventually(() => proxy.connections === 1, SOON, 'the connection');
    proxy.halfClose('client');
    await within(once(socket.resume(), 'end'), SOON, 'the end of what the server says');
    const passed = deferred<string>();
    proxy.listenTo(({ name }) => passed.resolve(name));
    socket.write('*1\r\n$4\r\nPING\r\n');
    expect(await within(passed.promise, SOON, 'the command')).toBe('ping');
    socket.destroy();
  });

  test('loses a command before it is executed', async () => {
    const redis = await client();
    const rule = proxy.rule({ match: ({ name }) => name === 'incr', execute: false, reply: 'cut' });
    await expect(redis.incr(key)).rejects.toThrow();
    await rule.hit();
    expect(await direct.get(key)).toBeNull();
  });

  test('drops messages, or delivers them again later, and touches nothing else', async () => {
    const subscriber = await client();
    const received: string[] = [];
    subscriber.on('message', (_channel, text: string) => received.push(text));
    const dropped = proxy.messages({ match: ({ text }) => text === 'lost', deliver: false });
    const twice = proxy.messages({ match: ({ text }) => text === 'twice', again: [20] });
    await subscriber.subscribe(key);
    for (const text of ['lost', 'twice', 'usual']) await direct.publish(key, text);
    await eventually(() => received.length === 3, SOON, 'the messages');
    expect(received.sort()).toEqual(['twice', 'twice', 'usual']);
    expect(dropped.hits).toHaveLength(1);
    expect(twice.hits).toHaveLength(1);
  });
});
