import { InProcessClients } from '../support/in-process-client.js';
import { redisUrl, uniquePrefix } from '../support/redis.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { eventually, SOON } from '../support/waiting.js';

/** The connection is ready, and dies without a sign before the server acknowledges the subscription. */
describe('a subscription that is never acknowledged', () => {
  const clients = new InProcessClients(uniquePrefix());
  let proxy: TcpProxy;
  beforeEach(async () => {
    proxy = await TcpProxy.start(redisUrl());
    proxy.rule({ match: ({ name }) => name === 'subscribe', execute: false });
  });
  afterEach(async () => {
    await clients.close();
    await proxy.close();
  });

  test('does not cost requests their time: they are served from the start', async () => {
    const { service } = await clients.start(proxy.url);
    const lock = await service.acquire('k', {});
    expect((await service.health()).listening).toBe(false);
    await lock.release();
  });

  test('is made anew on another connection', async () => {
    const { service } = await clients.start(proxy.url);
    await eventually(async () => (await service.health()).listening, SOON, 'the subscription');
  });
});
