import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { Redis } from 'ioredis';
import { limitHandshake } from '../../lib/stores/redis-client/connection/frozen-servers.js';

const LIMIT = 100;
/** What INFO shows of a server that is not ready yet. */
const LOADING = 'loading:1\r\nloading_eta_seconds:1\r\n';

describe('a server that accepts connections', () => {
  const sockets = new Set<Socket>();
  let server: Server;
  let client: Redis;

  afterEach(async () => {
    client.disconnect();
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });

  /** Connects to a server that does `answer` with what it receives. */
  async function connectTo(answer: (socket: Socket, received: string) => void): Promise<void> {
    server = createServer((socket) => {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('data', (data) => answer(socket, data.toString()));
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
  }

  it('and then sends nothing is left for a new connection', async () => {
    await connectTo(() => undefined);

    await once(client, 'reconnecting');
    await once(client, 'connect');

    expect(sockets.size).toBe(2);
  });

  it('and answers that it is loading its data is kept', async () => {
    await connectTo((socket, received) => {
      for (const [, command] of received.matchAll(/^\*\d+\r\n\$\d+\r\n(\w+)/gm)) {
        socket.write(
          command === 'info' ? `$${LOADING.length}\r\n${LOADING}\r\n` : '-ERR unknown command\r\n',
        );
      }
    });
    let closed = false;
    client.once('close', () => (closed = true));

    // Longer than the limit; ioredis itself asks again all the while.
    await new Promise((resolve) => setTimeout(resolve, 3 * LIMIT));

    expect(closed).toBe(false);
  });
});
