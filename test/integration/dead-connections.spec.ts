import { Redis } from 'ioredis';
import type { FairLockService } from '../../lib/core/engine/fair-lock-service.js';
import { InProcessClients } from '../support/in-process-client.js';
import { redisUrl, uniquePrefix } from '../support/redis.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { eventually, pause, SOON } from '../support/waiting.js';

/** Longer than a busy machine stands still: no line of the log may come of that. */
const COMMAND_TIMEOUT = 1_200;
const TIMES = { lease: 6_000, livenessWindow: 4_000, commandTimeout: COMMAND_TIMEOUT };

const prefix = uniquePrefix();
const clients = new InProcessClients(prefix, TIMES);
let proxy: TcpProxy;
beforeEach(async () => {
  proxy = await TcpProxy.start(redisUrl());
});
afterEach(async () => {
  await clients.close();
  await proxy.close();
});

const listens = ({ service }: { service: FairLockService }, what: string): Promise<void> =>
  eventually(async () => (await service.health()).listening, SOON, what);

/** As a NAT or a balancer does it: no packet passes any more, and neither side learns of it. */
describe('a connection for commands that was idle, and is forgotten on its way', () => {
  const idle = async () => {
    for (;;) {
      const client = await clients.start(proxy.url);
      await client.service.withLock('before', () => undefined);
      // Idle is what said nothing for longer than a command may take.
      await pause(COMMAND_TIMEOUT + 50);
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

  test('is no excuse for a server that is silent: a call fails, and the log says why', async () => {
    const { service, warnings } = await idle();
    proxy.blackHole();
    await expect(service.isLocked('k')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    await eventually(() => warnings.some((line) => line.includes('did not respond')), SOON, 'the line');
  });
});

/** A primary that was frozen, and replaced meanwhile, answers what it was sent before. ioredis still listens for `disconnectTimeout`. */
describe('a connection for commands that was dropped', () => {
  test('is not believed when it says later that the lock is granted', async () => {
    const redis = (role: string): Redis =>
      new Redis(proxy.url, { connectionName: `${prefix}-${role}`, disconnectTimeout: SOON });
    const client = await clients.start(redis);
    const other = await clients.start(redisUrl());
    const admin = new Redis(redisUrl());
    const isDropped = async (): Promise<boolean> =>
      !String(await admin.client('LIST')).includes(`${prefix}-commands`);
    let places = 0;
    proxy.listenTo(
      ({ replied }) => void replied.then((reply) => (places += Number(reply?.includes('line')))),
    );
    const first = await other.service.acquire('k');
    const granted = client.service.acquire('k');
    await eventually(() => places === 2, SOON, 'the answer to the call, and to its first heartbeat');
    proxy.dropMessages();
    const heal = proxy.blackHole({ direction: 'toClient', role: 'commands' });
    await first.release();
    await eventually(isDropped, SOON, 'the connection to be dropped');

    await admin.del(`${prefix}:{k}`); // the new primary knows nothing of it
    await admin.quit();
    const held = await other.service.acquire('k');
    heal();
    await eventually(() => places === 3, SOON, 'the call to wait again');
    await held.release();
    expect((await granted).token).toBeGreaterThan(held.token ?? Infinity);
  });
});

/** A client that holds or waits finds a dead subscription by its heartbeats; this one does neither. */
describe('an idle client whose subscription is dead without knowing it', () => {
  test('does not report that it listens, and subscribes anew', async () => {
    const client = await clients.start(proxy.url);
    await listens(client, 'the subscription');
    const heal = proxy.blackHole({ role: 'subscriber' });
    const found = async () => {
      const { reachable, listening } = await client.service.health();
      return reachable && !listening;
    };
    await eventually(found, SOON, 'the loss to be found, while commands are answered');
    heal();
    await listens(client, 'the new subscription');
  });

  test('looks for the reason in itself when no process answers, and finds them again', async () => {
    const { service } = await clients.start(proxy.url);
    await Promise.all([clients.start(redisUrl()), clients.start(redisUrl())]);
    const allAnswer = async (): Promise<boolean> => (await service.query()).processes.length === 3;
    await eventually(allAnswer, SOON, 'all processes');
    const heal = proxy.blackHole({ role: 'subscriber' });
    const deaf = await service.query();
    expect(deaf.silent).toHaveLength(2);
    expect(deaf.problems).toEqual([expect.stringContaining('This process is not receiving messages')]);
    heal();
    await eventually(allAnswer, SOON, 'all processes again');
  });
});

/** The connection is ready, and dies without a sign before the server acknowledges the subscription. */
describe('a subscription that is never acknowledged', () => {
  beforeEach(() => void proxy.rule({ match: ({ name }) => name === 'subscribe', execute: false }));

  test('does not cost requests their time: they are served from the start', async () => {
    const { service } = await clients.start(proxy.url);
    const lock = await service.acquire('k', {});
    expect((await service.health()).listening).toBe(false);
    await lock.release();
  });

  test('is made anew on another connection', async () => {
    await listens(await clients.start(proxy.url), 'the subscription');
  });
});
