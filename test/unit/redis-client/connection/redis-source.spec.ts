import { once } from 'node:events';
import { describe, expect, jest, test } from '@jest/globals';
import { createServer, Socket, type AddressInfo } from 'node:net';
import { Redis } from 'ioredis';
import { LockConfigurationError } from '../../../../lib/core/errors/errors.js';
import {
  openConnection,
  type RedisSource,
} from '../../../../lib/stores/redis-client/connection/redis-source.js';

const open = (source: unknown) => openConnection(source as RedisSource, 'commands');
const lazy = () => new Redis({ lazyConnect: true });

test('the kernel probes an idle connection, before a NAT or a balancer forgets it', async () => {
  const probed = jest.spyOn(Socket.prototype, 'setKeepAlive');
  const server = createServer((socket) => void socket.on('error', () => undefined).resume());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { client } = open({ host: '127.0.0.1', port: (server.address() as AddressInfo).port });
  const connected = new Promise((resolve) => client.once('connect', resolve));
  void client.connect().catch(() => undefined);
  await connected;
  expect(probed).toHaveBeenCalledWith(true, 30_000);
  probed.mockRestore();
  client.disconnect();
  server.close();
});

describe('a function as the option redis', () => {
  test('returns a new client at each call', () => {
    expect(open(lazy).client).not.toBe(open(lazy).client);
  });

  test.each([
    ['nothing', () => undefined],
    ['null', () => null],
    ['a Promise', () => Promise.resolve(lazy())],
    ['the options of a client', () => ({ host: 'h' })],
  ])('is refused with a sentence if it returns %s', (_, source) => {
    expect(() => open(source)).toThrow(LockConfigurationError);
    expect(() => open(source)).toThrow(
      /must return a new Redis or Cluster .* for the role 'commands' it returned something else/,
    );
  });

  test('makes a client for replication that sends no WAIT again on another connection', async () => {
    let connections = 0;
    const received: string[] = [];
    const server = createServer((socket) => {
      const number = (connections += 1);
      socket.on('data', (data) => {
        for (const [, name = ''] of data.toString().matchAll(/\*\d+\r\n\$\d+\r\n(\w+)/g)) {
          if (/^wait$/i.test(name)) received.push(`WAIT on ${number}`);
          else socket.write('+OK\r\n');
        }
      });
      socket.on('error', () => undefined);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const make = () =>
      new Redis({
        host: '127.0.0.1',
        port,
        enableReadyCheck: false,
        disableClientInfo: true,
        lazyConnect: true,
      });
    const client = openConnection(make, 'replication').client as Redis;
    try {
      await client.connect();
      const waited = client.call('WAIT', 1, 100);
      while (received.length === 0) await new Promise(setImmediate);
      client.disconnect(true);
      await expect(waited).rejects.toThrow(/max retries/);
      if (client.status !== 'ready') await once(client, 'ready');
      await client.ping();
      expect(received).toEqual(['WAIT on 1']);
      expect(connections).toBe(2);
    } finally {
      client.disconnect();
      server.close();
    }
  }, 5_000);

  test('is refused if it returns one client twice, which cannot send commands while it listens', () => {
    const client = lazy();
    open(() => client);
    expect(() => open(() => client)).toThrow(/it returned one that it had returned before\.$/);
  });
});
