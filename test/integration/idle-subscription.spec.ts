import { InProcessClients } from '../support/in-process-client.js';
import { redisUrl, uniquePrefix } from '../support/redis.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { eventually, SOON } from '../support/waiting.js';

/** A client that holds or waits finds a dead subscription by its heartbeats; this one does neither. */
describe('an idle client whose subscription is dead without knowing it', () => {
  const clients = new InProcessClients(uniquePrefix());
  let proxy: TcpProxy;
  beforeEach(async () => {
    proxy = await TcpProxy.start(redisUrl());
  });
  afterEach(async () => {
    await clients.close();
    await proxy.close();
  });

  test('does not report that it listens, and subscribes anew', async () => {
    const { service } = await clients.start(proxy.url);
    await eventually(async () => (await service.health()).listening, SOON, 'the subscription');
    const heal = proxy.blackHole({ role: 'subscriber' });
    const found = async () => {
      const { reachable, listening } = await service.health();
      return reachable && !listening;
    };
    await eventually(found, SOON, 'the loss to be found, while commands are answered');
    heal();
    await eventually(async () => (await service.health()).listening, SOON, 'the new subscription');
  });

  test('looks for the reason in itself when no process answers, and finds them again', async () => {
    const { service } = await clients.start(proxy.url);
    await Promise.all([clients.start(redisUrl()), clients.start(redisUrl())]);
    await eventually(async () => (await service.query()).processes.length === 3, SOON, 'all processes');
    const heal = proxy.blackHole({ role: 'subscriber' });
    const deaf = await service.query();
    expect(deaf.silent).toHaveLength(2);
    expect(deaf.problems).toEqual([expect.stringContaining('This process is not receiving messages')]);
    heal();
    await eventually(async () => (await service.query()).processes.length === 3, SOON, 'all processes again');
  });
});
