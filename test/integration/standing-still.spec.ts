import { jest } from '@jest/globals';
import { Redis } from 'ioredis';
import { USUAL_TIMES } from '../support/history/lab.js';
import { InProcessClients } from '../support/in-process-client.js';
import { OwnServer } from '../support/own-server.js';
import { uniquePrefix } from '../support/redis.js';
import { block } from '../support/waiting.js';

const { commandTimeout } = USUAL_TIMES;

/** Before what was asked for is sent: that is gathered until all sockets have been read. */
const beforeSending = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
/** Right after that, before a reply can be read. */
const afterSending = (): Promise<void> =>
  new Promise((resolve) => process.nextTick(() => setImmediate(resolve)));

describe('a process that stood still reads what came meanwhile before it judges', () => {
  const own = new OwnServer();
  let clients: InProcessClients;
  beforeEach(() => (clients = new InProcessClients(uniquePrefix())));
  afterEach(() => clients.close());

  /** The ids of the connections of clients, other than the one that asks. */
  const connections = async (): Promise<string[]> => {
    const asking = await own.admin.client('ID');
    const list = String(await own.admin.client('LIST')).matchAll(/^id=(\d+) /gm);
    return [...list].map(([, id = '']) => id).filter((id) => id !== String(asking));
  };

  test('an answer that lay there is no timeout, and its connection is kept', async () => {
    const { service } = await clients.start(own.url);
    await (await service.acquire('before')).release();
    const before = await connections();
    const asked = service.acquire('k');
    await afterSending();
    block(commandTimeout + 100);
    const lock = await asked;
    expect(lock.state).toBe('held');
    await lock.release();
    expect(await connections()).toEqual(before);
  });

  test.each([
    ['a request', {}],
    ['a try', { waitTime: 0 }],
  ])('%s that could not be sent meanwhile is sent then', async (_, options) => {
    const { service } = await clients.start(own.url);
    await (await service.acquire('before')).release();
    const asked = service.acquire('k', options);
    await beforeSending();
    block(commandTimeout + 100);
    const lock = await asked;
    expect(lock.state).toBe('held');
    await lock.release();
  });

  test('a script that the server does not have yet is sent as text, with the whole time', async () => {
    const { service } = await clients.start(own.url);
    await own.admin.script('FLUSH');
    const inspected = service.inspect('k');
    const held = service.isLocked('k');
    const asked = service.acquire('k');
    await afterSending();
    block(commandTimeout + 100);
    await (await asked).release();
    expect((await inspected).holders).toEqual([]);
    expect(await held).toBe(false);
  });

  test('a server that answered a check of its health counts as reachable', async () => {
    const { service } = await clients.start(own.url);
    const health = service.health();
    block(commandTimeout + 100);
    expect(await health).toMatchObject({ reachable: true });
  });

  test('a WAIT that was answered counts, and its connection is kept', async () => {
    const replicas = { min: 0, timeout: 100 };
    clients = new InProcessClients(uniquePrefix(), USUAL_TIMES, { replicas });
    const { service } = await clients.start(own.url);
    await (await service.acquire('before')).release();
    const before = await connections();
    const call = jest.spyOn(Redis.prototype, 'call').mockImplementationOnce(function (this: Redis, ...args) {
      process.nextTick(block, replicas.timeout + commandTimeout + 100);
      return this.call(...args);
    });
    const lock = await service.acquire('k');
    expect(call.mock.calls[0]).toContain('WAIT');
    call.mockRestore();
    await lock.release();
    expect(await connections()).toEqual(before);
  });
});
