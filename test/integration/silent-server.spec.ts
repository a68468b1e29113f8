import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { Redis } from 'ioredis';
import { limitHandshake } from '../../lib/stores/redis-client/connection/redis-source.js';

const LIMIT = 100;

describe('a server that accepts connections', () => {
  const sockets = new Set<Socket>();
  let server: Server;
  let client: Redis;

  afterEach(async () => {
    client.disconnect();
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });

  it('and then sends nothing is left for a new connection', async () => {
    server = createServer((socket) => {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.resume();
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    client = new Redis({
      port,
      protocol: 2,
      lazyConnect: true,
      enableOfflineQueue: false,
      retryStrategy: () => 0,
      disconnectTimeout: 50,
    });
    client.on('error', () => undefined);
    limitHandshake(client, LIMIT);
    void client.connect().catch(() => undefined);
    await once(client, 'connect');

    await once(client, 'reconnecting');
    await once(client, 'connect');

    expect(sockets.size).toBe(2);
  });
});
