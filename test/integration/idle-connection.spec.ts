import { setTimeout as pass } from 'node:timers/promises';
import type { FairLockService } from '../../lib/core/engine/fair-lock-service.js';
import { USUAL_TIMES } from '../support/history/lab.js';
import { InProcessClients } from '../support/in-process-client.js';
import { redisUrl, uniquePrefix } from '../support/redis.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { eventually, SOON } from '../support/waiting.js';

const COMMAND_TIMEOUT = 600;

/** As a NAT or a balancer does it: no packet passes any more, and neither side learns of it. */
describe('a connection for commands that was idle, and is forgotten on its way', () => {
  const clients = new InProcessClients(uniquePrefix(), { ...USUAL_TIMES, commandTimeout: COMMAND_TIMEOUT });
  let proxy: TcpProxy;
  beforeEach(async () => {
    proxy = await TcpProxy.start(redisUrl());
  });
  afterEach(async () => {
    await clients.close();
    await proxy.close();
  });

  const idle = async () => {
    for (;;) {
      const client = await clients.start(proxy.url);
      await client.service.withLock('before', () => undefined);
      // Idle is what said nothing for longer than a command may take.
      await pass(COMMAND_TIMEOUT + 50);
      // After a start that was slow, on a busy machine, the log would not repeat within 10 s that Redis does not respond.
      if (client.warnings.length === 0) return client;
      await clients.close();
    }
  };

  const calls: [string, (service: FairLockService) => Promise<unknown>, unknown][] = [
    ['a call gets its lock', (service) => service.withLock('k', () => 'done'), 'done'],
    ['isLocked() answers', (service) => service.isLocked('k'), false],
    ['inspect() answers', (service) => service.inspect('k'), expect.objectContaining({ holders: [] })],
    ['forceRelease() answers', (service) => service.forceRelease('k'), false],
    ['health() finds it', (service) => service.health(), expect.objectContaining({ reachable: true })],
    ['query() answers', (service) => service.query(), expect.objectContaining({ problems: [] })],
  ];

  test.each(calls)('is replaced, and %s, without a line in the log', async (_, call, outcome) => {
    const { service, warnings } = await idle();
    const forgotten = proxy.rule({ match: ({ role }) => role === 'commands', execute: false, reply: 'lost' });
    expect(await call(service)).toEqual(outcome);
    expect(forgotten.hits).toHaveLength(1);
    expect(warnings).toEqual([]);
  });

  test('is replaced each time that it is forgotten', async () => {
    const { service, warnings } = await idle();
    for (let time = 0; time < 3; time += 1) {
      proxy.rule({ match: ({ role }) => role === 'commands', execute: false, reply: 'lost' });
      expect(await service.withLock('k', () => 'done')).toBe('done');
      await pass(COMMAND_TIMEOUT + 50);
    }
    expect(warnings).toEqual([]);
  });

  test('is no excuse for a server that is silent: a call fails when the time has passed twice, and the log says why', async () => {
    const { service, warnings } = await idle();
    proxy.blackHole();
    const since = performance.now();
    await expect(service.isLocked('k')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    expect(performance.now() - since).toBeLessThan(2 * COMMAND_TIMEOUT + SOON);
    await eventually(() => warnings.some((line) => line.includes('did not respond')), SOON, 'the line');
  });
});
