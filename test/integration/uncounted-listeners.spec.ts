import { Redis } from 'ioredis';
import { openConnection, openSubscription } from '../../lib/stores/redis-client/connection/redis-source.js';
import { StoreClient } from '../../lib/stores/redis-client/store-client.js';
import { requiredCommands } from '../../lib/stores/redis/required-commands.js';
import { InProcessClients } from '../support/in-process-client.js';
import { uniquePrefix } from '../support/redis.js';
import { Replicas } from '../support/replicas.js';
import { eventually, pause, SOON } from '../support/waiting.js';

/** A replica passes on what is published on its primary, which does not count its listeners. So does a proxy that fans messages out. */
describe('where scripts count no listener although messages arrive', () => {
  let servers: Replicas;
  let clients: InProcessClients;
  beforeAll(async () => {
    servers = await Replicas.start(1);
    clients = new InProcessClients('uncounted');
  });
  afterAll(async () => {
    await clients.close();
    await servers.close();
  });

  test('a waiting client keeps its connections and its place, and says once that deaths are noticed later', async () => {
    const replica = servers.replicas[0]!;
    const opened = async (): Promise<number> =>
      Number(/total_connections_received:(\d+)/.exec(await servers.admin(replica).info('stats'))?.[1]);
    const source = (role: string): Redis =>
      new Redis((role === 'subscriber' ? replica : servers.primary).url, { lazyConnect: true });
    const [holder, waiter] = [await clients.start(source), await clients.start(source)];
    const lock = await holder.service.acquire('k');
    const next = waiter.service.acquire('k');
    const before = await opened();
    // For two heartbeats: a client that reconnects each time does so up to 80 times a second.
    await pause((2 * clients.times.livenessWindow) / 3);
    expect((await opened()) - before).toBeLessThanOrEqual(4);
    await lock.release();
    await (await next).release();
    const ofDeaths = waiter.warnings.filter((warning) =>
      warning.includes('does not count a listening connection'),
    );
    expect(ofDeaths).toHaveLength(1);
  });

  test.each([
    ['the primary, which counts it', () => servers.primary.url, true],
    ['a replica: messages arrive, and the primary counts nobody', () => servers.replicas[0]!.url, false],
  ])('a client that listens to %s, knows that', async (_, listensTo, counted) => {
    const clientId = uniquePrefix();
    const client = new StoreClient({
      commands: openConnection(servers.primary.url, 'commands'),
      subscriptions: openSubscription(listensTo()),
      clientId,
      channels: 'uncounted:client:',
      commandTimeout: SOON,
      required: requiredCommands('uncounted', ''),
      onWarning: () => undefined,
    });
    client.connect();
    await eventually(() => client.subscriber.counted === counted, SOON, 'the count');
    expect(await client.health()).toEqual({ reachable: true, listening: true });
    expect(client.subscriber.counted).toBe(counted);
    await client.close(new Map());
  });
});
