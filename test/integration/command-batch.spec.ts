import { connect, createServer, type Server, type Socket } from 'node:net';
import { once } from 'node:events';
import { Redis } from 'ioredis';
import { CommandConnection } from '../../lib/stores/redis-client/commands/command-connection.js';
import { openConnection } from '../../lib/stores/redis-client/connection/redis-source.js';
import { script } from '../../lib/stores/redis-client/commands/script.js';
import { redisUrl, uniquePrefix } from '../support/redis.js';

const COUNT = script('count', 1, `return redis.call('INCR', KEYS[1])`);

describe('commands of one turn of the event loop', () => {
  let admin: Redis;
  let proxy: CountingProxy;
  let connection: CommandConnection;
  let prefix: string;
  const count = (key: string): Promise<unknown> => connection.scripts.run(COUNT, [`${prefix}${key}`], []);

  beforeAll(() => {
    admin = new Redis(redisUrl());
  });
  beforeEach(async () => {
    prefix = uniquePrefix();
    proxy = await CountingProxy.start(redisUrl());
    connection = new CommandConnection(openConnection(proxy.url, 'commands'), 1_000);
    connection.connect();
    await connection.whenReady(1_000);
    await count('first');
  });
  afterEach(async () => {
    await connection.close(1_000);
    await proxy.stop();
  });
  afterAll(() => admin.disconnect());

  test('go out by one write', async () => {
    const before = proxy.reads;
    await Promise.all(Array.from({ length: 50 }, (_, i) => count(`key${i}`)));
    // 50 commands of 100 bytes fit into one read of a socket (64 KiB).
    expect(proxy.reads - before).toBe(1);
  });

  test('that their callers alone wait for go out by one write, also from several turns, with what does not wait', async () => {
    const gather = (key: string): Promise<unknown> =>
      connection.scripts.runGathered(COUNT, [`${prefix}${key}`], []);
    const endOfTurn = (): Promise<void> => new Promise((resolve) => process.nextTick(resolve));
    const before = proxy.reads;
    const gathered: Promise<unknown>[] = [];
    for (let i = 0; i < 10; i += 1) {
      gathered.push(gather('one'));
      await endOfTurn();
    }
    expect(proxy.reads).toBe(before);
    const last = count('one');
    expect(await Promise.all([...gathered, last])).toEqual(Array.from({ length: 11 }, (_, i) => i + 1));
    expect(proxy.reads - before).toBe(1);
    expect(await Promise.all([gather('two'), gather('two')])).toEqual([1, 2]);
  });

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
    proxy.silent = true;
    const outcomes = Promise.allSettled([count('a'), count('b')]);
    await proxy.read();
    proxy.silent = false;
    proxy.cut();
    const lost = { status: 'rejected', reason: { failure: 'unreachable', effect: 'unknown' } };
    expect(await outcomes).toMatchObject([lost, lost]);
    await connection.whenReady(1_000);
  });
});

/** Leads to the server and counts what it reads from its client. */
class CountingProxy {
  reads = 0;
  /** The server does not get what is read. */
  silent = false;
  private readonly sockets = new Set<Socket>();
  private onRead: (() => void) | undefined;

  private constructor(
    private readonly server: Server,
    readonly url: string,
  ) {}

  static async start(target: string): Promise<CountingProxy> {
    const { hostname, port } = new URL(target);
    const server = createServer((client) => proxy.forward(client, Number(port), hostname));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    const proxy = new CountingProxy(
      server,
      `redis://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`,
    );
    return proxy;
  }

  read(): Promise<void> {
    return new Promise((resolve) => (this.onRead = resolve));
  }

  cut(): void {
    for (const socket of this.sockets) socket.destroy();
  }

  async stop(): Promise<void> {
    this.cut();
    this.server.close();
    await once(this.server, 'close');
  }

  private forward(client: Socket, port: number, host: string): void {
    const upstream = connect(port, host);
    for (const socket of [client, upstream]) {
      this.sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        this.sockets.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    upstream.pipe(client);
    client.on('data', (bytes) => {
      this.reads += 1;
      if (!this.silent) upstream.write(bytes);
      this.onRead?.();
    });
  }
}
