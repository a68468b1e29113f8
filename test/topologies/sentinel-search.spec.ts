import { once } from 'node:events';
import { jest } from '@jest/globals';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { Redis } from 'ioredis';
import { openConnection, type RedisSource } from '../../lib/stores/redis-client/connection/redis-source.js';
import { networkTrouble } from '../../lib/stores/redis-client/server/server-failure.js';
import { freePort, startRedisServer, type RedisServer } from '../support/redis.js';
import { eventually, pause, SOON, within } from '../support/waiting.js';

const HOST = '127.0.0.1';
const NAME = 'lock-primary';

describe('a client of sentinels', () => {
  let primary: RedisServer;
  let client: Redis | undefined;

  beforeAll(async () => {
    primary = await startRedisServer();
  });
  afterAll(() => primary.stop());
  afterEach(() => client?.disconnect());

  function open(source: RedisSource): Redis {
    client = openConnection(source, 'commands').client as Redis;
    void client.connect().catch(() => undefined);
    return client;
  }

  test('goes on although a failover is announced while it looks for the primary, which ends a client of ioredis', async () => {
    const sentinel = await FakeSentinel.start(primary.port);
    const searching = open({ name: NAME, sentinels: [{ host: HOST, port: sentinel.port }] });
    await within(once(searching, 'ready'), SOON, 'the first connection');
    await sentinel.listened;
    sentinel.beforeAnswer = () => sentinel.announce();
    const admin = new Redis(primary.url);
    await admin.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    admin.disconnect();
    // `once` of node:events would reject for the error that ioredis reports meanwhile.
    await within(
      new Promise<void>((ready) => searching.once('ready', ready)),
      SOON / 6,
      'the next connection',
    );
    searching.disconnect();
    await within(once(searching, 'end'), SOON, 'the end');
    await sentinel.stop();
  });

  test('prints nothing while sentinels are down, and warns once of each until it is back', async () => {
    const printed = jest.spyOn(console, 'error').mockImplementation(() => undefined);
    const sentinel = await FakeSentinel.start(primary.port);
    const ports = [sentinel.port, await freePort()];
    const { client: led, sentinels } = openConnection(
      { name: NAME, sentinels: ports.map((port) => ({ host: HOST, port })) },
      'commands',
    );
    client = led as Redis;
    const warnings: string[] = [];
    sentinels!.onWarning = (warning) => void warnings.push(warning);
    void led.connect().catch(() => undefined);
    await sentinel.listened;
    await eventually(() => warnings.length === 1, SOON, 'the warning');
    await sentinel.stop();
    await eventually(() => warnings.length === 2, SOON, 'the other warning');
    // For several attempts to connect: nothing more is said.
    await pause(2_000);
    expect(warnings).toEqual([
      expect.stringContaining(`The sentinel ${HOST}:${ports[1]} does not respond (connect ECONNREFUSED`),
      expect.stringContaining(`The sentinel ${HOST}:${ports[0]} does not respond (`),
    ]);
    expect(printed).not.toHaveBeenCalled();
    printed.mockRestore();
  });

  test('asks the next one where one of them is frozen', async () => {
    const sentinel = await FakeSentinel.start(primary.port);
    const waiting = new Set<Socket>();
    const frozen = createServer((socket) => waiting.add(socket)).listen(0, HOST);
    await once(frozen, 'listening');
    const ports = [(frozen.address() as AddressInfo).port, sentinel.port];
    const led = open({ name: NAME, sentinels: ports.map((port) => ({ host: HOST, port })) });
    await within(once(led, 'ready'), SOON, 'the primary');
    led.disconnect();
    // Else the command that it never answers times out when the test has ended.
    for (const socket of waiting) socket.destroy();
    frozen.close();
    await sentinel.stop();
  });

  test('that none of them leads to a primary says so in an error that may be repeated', async () => {
    const lost = open({ name: NAME, sentinels: [{ host: HOST, port: 1 }] });
    const [error] = (await once(lost, 'error')) as [unknown];
    expect(networkTrouble(error)).toMatch(/no sentinel named the primary/);
  });
});

/** Names a primary, and announces a failover when the test says so. */
class FakeSentinel {
  beforeAnswer: (() => void) | undefined;
  readonly listened: Promise<void>;
  private onListened!: () => void;
  private listener: Socket | undefined;
  private readonly sockets = new Set<Socket>();
  private readonly server: Server;

  private constructor(private readonly primaryPort: number) {
    this.listened = new Promise((resolve) => (this.onListened = resolve));
    this.server = createServer((socket) => {
      this.sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('data', (data) => this.answer(socket, data.toString()));
    });
  }

  static async start(primaryPort: number): Promise<FakeSentinel> {
    const sentinel = new FakeSentinel(primaryPort);
    sentinel.server.listen(0, HOST);
    await once(sentinel.server, 'listening');
    return sentinel;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  announce(): void {
    const change = `${NAME} ${HOST} 1 ${HOST} ${this.primaryPort}`;
    this.listener?.write(reply('message', '+switch-master', change));
  }

  stop(): Promise<unknown> {
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
    return once(this.server, 'close');
  }

  private answer(socket: Socket, received: string): void {
    for (const text of received.split(/^\*\d+\r\n/m).slice(1)) {
      const [command = '', ...words] = text.split('\r\n').filter((_, i) => i % 2 === 1);
      if (command === 'subscribe') {
        this.listener = socket;
        socket.write(`*3\r\n$9\r\nsubscribe\r\n$14\r\n+switch-master\r\n:1\r\n`);
        this.onListened();
      } else if (command === 'sentinel' && words[0] === 'get-master-addr-by-name') {
        this.beforeAnswer?.();
        this.beforeAnswer = undefined;
        // The announcement is on another connection, and is to be read first.
        setTimeout(() => socket.write(reply(HOST, String(this.primaryPort))), 20);
      } else {
        socket.write(command === 'sentinel' ? '*0\r\n' : `-ERR unknown command '${command}'\r\n`);
      }
    }
  }
}

function reply(...words: string[]): string {
  return `*${words.length}\r\n${words.map((word) => `$${word.length}\r\n${word}\r\n`).join('')}`;
}
