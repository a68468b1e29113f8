import { Redis } from 'ioredis';
import { CommandConnection } from '../../lib/stores/redis-client/commands/command-connection.js';
import { openConnection } from '../../lib/stores/redis-client/connection/redis-source.js';
import { script } from '../../lib/stores/redis-client/commands/script.js';
import { redisUrl, uniquePrefix } from '../support/redis.js';
import { TcpProxy } from '../support/tcp-proxy.js';

const COUNT = script('count', `return redis.call('INCR', KEYS[1])`);

describe('commands that are sent together', () => {
  let admin: Redis;
  let proxy: TcpProxy;
  let connection: CommandConnection;
  let prefix: string;
  const count = (key: string): Promise<unknown> => connection.scripts.run(COUNT, [`${prefix}${key}`], []);

  beforeAll(() => {
    admin = new Redis(redisUrl());
  });
  beforeEach(async () => {
    prefix = uniquePrefix();
    proxy = await TcpProxy.start(redisUrl());
    connection = new CommandConnection(openConnection(proxy.url, 'commands'), 1_000);
    connection.connect();
    await connection.whenReady(1_000);
    await count('first');
  });
  afterEach(async () => {
    await connection.close(1_000);
    await proxy.close();
  });
  afterAll(() => admin.disconnect());

  test('are carried out in the order in which they were sent, however many they are', async () => {
    const answers = await Promise.all(Array.from({ length: 250 }, () => count('one')));
    expect(answers).toEqual(Array.from({ length: 250 }, (_, i) => i + 1));
  });

  test('have each their own outcome', async () => {
    await admin.hset(`${prefix}hash`, 'field', 1);
    const [good, bad, better] = await Promise.allSettled([count('a'), count('hash'), count('b')]);
    expect([good, better]).toMatchObject([{ value: 1 }, { value: 1 }]);
    expect(bad).toMatchObject({ reason: { failure: 'foreign-type', effect: 'none' } });
  });

  test('have each their own outcome where what wraps the client, such as a tracer, throws for one of them', async () => {
    const client = connection.client as Redis;
    const send = client.sendCommand.bind(client);
    client.sendCommand = (command, stream) => {
      if (command.args.includes(`${prefix}bad`)) throw new Error('no span');
      return send(command, stream);
    };
    const [good, bad, better] = await Promise.allSettled([count('a'), count('bad'), count('b')]);
    expect([good, better]).toMatchObject([{ value: 1 }, { value: 1 }]);
    expect(bad).toMatchObject({ reason: { failure: 'unreachable', effect: 'unknown' } });
  });

  test('are all served by a server that has forgotten their script', async () => {
    await admin.script('FLUSH');
    expect(await Promise.all([count('a'), count('b'), count('c')])).toEqual([1, 1, 1]);
  });

  test('fail, each with an unknown outcome, when the connection breaks before they are answered', async () => {
    proxy.rule({ match: ({ name }) => name === 'evalsha', reply: 'cut' });
    const outcomes = Promise.allSettled([count('a'), count('b')]);
    const lost = { status: 'rejected', reason: { failure: 'unreachable', effect: 'unknown' } };
    expect(await outcomes).toMatchObject([lost, lost]);
    await connection.whenReady(1_000);
  });
});
