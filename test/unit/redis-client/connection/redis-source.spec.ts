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

  test('is refused if it returns one client twice, which cannot send commands while it listens', () => {
    const client = lazy();
    open(() => client);
    expect(() => open(() => client)).toThrow(/it returned one that it had returned before\.$/);
  });
});
