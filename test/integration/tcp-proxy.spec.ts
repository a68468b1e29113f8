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

describe('the TCP proxy in front of Redis', () => {
  let proxy: TcpProxy;
  let direct: Redis;
  let key: string;
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
    key = uniquePrefix();
  });
  afterEach(async () => {
    for (const redis of clients.splice(0)) redis.disconnect();
    await direct.del(key);
    direct.disconnect();
    await proxy.close();
    await eventually(() => proxy.connections === 0, SOON, 'the end of all connections');
  });

  const settled = async (promise: Promise<unknown>): Promise<boolean> => {
    const done = promise.then(
      () => true,
      () => true,
    );
    return Promise.race([done, pause(A_WHILE).then(() => false)]);
  };

  test('resets the connections of one role only', async () => {
    const [commands, subscriber] = [await client(), await client()];
    await subscriber.subscribe(key);
    const closed = deferred();
    subscriber.on('close', () => closed.resolve());
    proxy.cut('subscriber');
    await within(closed.promise, SOON, 'the end of the subscriber');
    expect(await commands.ping()).toBe('PONG');
  });

  test('delays what passes', async () => {
    const redis = await client();
    const heal = proxy.disturb({ delay: 100 }, { direction: 'toServer' });
    const start = performance.now();
    await redis.ping();
    expect(performance.now() - start).toBeGreaterThanOrEqual(100);
    heal();
  });

  test('lets single bytes trickle through', async () => {
    const redis = await client();
    const heal = proxy.disturb({ bytesPerSecond: 100 }, { direction: 'toClient' });
    const start = performance.now();
    await redis.echo('seven'); // $5\r\nseven\r\n: nine pauses of 10 ms before the client can know all of it
    expect(performance.now() - start).toBeGreaterThanOrEqual(90);
    heal();
  });

  test('is a black hole one way or both; what was sent meanwhile arrives when it is healed', async () => {
    const redis = await client();
    for (const direction of ['toServer', 'toClient', undefined] as const) {
      await direct.set(key, 0);
      const heal = proxy.blackHole(direction ? { direction } : {});
      const reply = redis.incr(key);
      expect(await settled(reply)).toBe(false);
      expect(await direct.get(key)).toBe(direction === 'toClient' ? '1' : '0');
      heal();
      expect(await reply).toBe(1);
    }
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

  describe('and single commands', () => {
    const incr = ({ name, args }: { name: string; args: readonly string[] }): boolean =>
      name === 'incr' && args[0] === key;

    test('loses a reply by cutting the connection after the command was executed', async () => {
      const redis = await client();
      const rule = proxy.rule({ match: incr, reply: 'cut' });
      await expect(redis.incr(key)).rejects.toThrow();
      expect(await direct.get(key)).toBe('1');
      expect(rule.hits).toHaveLength(1);
    });

    test('loses a reply silently', async () => {
      const redis = await client();
      proxy.rule({ match: incr, reply: 'lost' });
      const replies = [redis.incr(key), redis.ping()];
      expect(await settled(Promise.any(replies))).toBe(false);
      expect(await direct.get(key)).toBe('1');
      expect(await (await client()).incr(key)).toBe(2); // the rule was for one command
      redis.disconnect();
      await Promise.allSettled(replies);
    });

    test('loses a command before it is executed', async () => {
      const redis = await client();
      const rule = proxy.rule({ match: incr, execute: false, reply: 'cut' });
      await expect(redis.incr(key)).rejects.toThrow();
      await rule.hit();
      expect(await direct.get(key)).toBeNull();
    });

    test('delivers it again, as often and as late as told, and tells what the server answered', async () => {
      const redis = await client();
      const rule = proxy.rule({ match: incr, again: [20, 40] });
      expect(await redis.incr(key)).toBe(1);
      await eventually(() => rule.answersToCopies.length === 2, SOON, 'the copies');
      // Each copy has a connection of its own, so their answers may arrive in either order.
      expect(rule.answersToCopies.map(String).sort()).toEqual([':2\r\n', ':3\r\n']);
    });

    test('lets them pass one by one, with work in between', async () => {
      const clients = [await client(), await client(), await client()];
      let working = 0;
      let rounds = 0;
      const heal = proxy.betweenCommands(async () => {
        working += 1;
        rounds += 1;
        const before = await direct.get(key);
        await pause(1);
        expect(await direct.get(key)).toBe(before);
        expect(working).toBe(1);
        working -= 1;
      });
      await Promise.all(clients.flatMap((redis) => [redis.incr(key), redis.incr(key)]));
      await heal();
      expect(await direct.get(key)).toBe('6');
      expect(rounds).toBe(6);
    });
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
    expect(received).toEqual(['twice', 'usual', 'twice']);
    expect(dropped.hits).toHaveLength(1);
    expect(twice.hits).toHaveLength(1);
  });
});
