import { InProcessClients, type InProcessClient } from '../support/in-process-client.js';
import { uniquePrefix, type RedisServer } from '../support/redis.js';
import { Replicas } from '../support/replicas.js';
import { inLine } from '../support/requests.js';
import { eventually } from '../support/waiting.js';

/** The lease outlasts the two failovers of a test on a busy machine. */
const TIMES = { lease: 20_000, livenessWindow: 10_000, commandTimeout: 1_000 };
/** Far beyond all bounds. */
const TIME_LIMIT = 30_000;

describe('a server that was primary, became a replica of a server with older data, and is promoted again', () => {
  let servers: Replicas;
  let clients: InProcessClients;
  let replica: RedisServer;

  beforeEach(async () => {
    servers = await Replicas.start(1);
    [replica] = servers.replicas as [RedisServer];
    clients = new InProcessClients(uniquePrefix(), TIMES);
  });
  afterEach(async () => {
    await clients.close();
    await servers.close();
  });

  /** A request of that client in line, when this resolves; `served` counts it when it has the lock. */
  const joins = async (client: InProcessClient, label: string, served: string[]): Promise<void> => {
    const { granted } = await inLine(client, 'k', { label });
    void granted.then((lock) => {
      served.push(label);
      return lock.release();
    });
  };

  test.each([
    { connections: 'closes its connections, as a sentinel makes it', closed: true },
    { connections: 'keeps its connections open, as by hand or behind a proxy', closed: false },
  ])('and $connections, gets back the places that it lost', async ({ closed }) => {
    const { primary, source } = servers;
    const holder = await clients.start(source);
    const waiter = await clients.start(source);
    const served: string[] = [];
    const lock = await holder.service.acquire('k');
    await joins(waiter, 'known to both', served);
    await servers.followed(1);
    await servers.promote(replica);
    await joins(waiter, 'known to the former primary', served);

    await servers.follow(primary, replica);
    await servers.promote(primary);
    if (closed) await servers.admin(primary).call('CLIENT', 'KILL', 'TYPE', 'normal');
    await eventually(
      async () => (await waiter.service.inspect('k')).queueLength === 2,
      TIME_LIMIT,
      'both places on the server',
    );
    await joins(await clients.start(source), 'new', served);
    await lock.release();
    await eventually(() => served.length === 3, TIME_LIMIT, 'all to be served');
    expect(served).toEqual(['known to both', 'known to the former primary', 'new']);
  });
});
