import { InProcessClients } from '../support/in-process-client.js';
import { SentinelSetup } from '../support/sentinel.js';
import { uniquePrefix } from '../support/redis.js';
import { eventually } from '../support/waiting.js';
import { documentedAcl } from './documented-acl.js';

/** A client looks for the new primary within a command's deadline and the longest pause, 2.2 s; the rest is a busy machine. */
const FOUND = 10_000;

describe('sentinels that ask who wants to know', () => {
  let setup: SentinelSetup;
  let clients: InProcessClients;

  beforeAll(async () => {
    setup = await SentinelSetup.start(2, 'among-sentinels');
  });
  afterAll(() => setup.stop());
  beforeEach(() => {
    clients = new InProcessClients(uniquePrefix());
  });
  afterEach(() => clients.close());

  test('the user of the documentation finds the primary, and learns of its replacement; nothing is denied', async () => {
    await setup.tellSentinels('ACL', ...documentedAcl().onSentinels);
    const user = { sentinelUsername: 'lookout', sentinelPassword: 'secret' };
    const { service, warnings } = await clients.start({ ...setup.options, ...user });
    const lock = await service.acquire('k');
    const former = await setup.primary();
    await setup.replicated(former);
    await setup.failover();
    await setup.promoted(former);
    // Only the sentinels can tell that: the former primary runs, and takes itself for one.
    const moved = async (): Promise<boolean> => !(await hasClientsOfLock(former));
    await eventually(moved, FOUND, 'the connections to leave the former primary');
    await eventually(() => service.isLocked('k').catch(() => false), FOUND, 'the new primary to answer');
    lock.assertHeld();
    await lock.release();
    // A busy server may make the lock say that Redis did not respond for a moment.
    expect(warnings.filter((warning) => warning.includes('sentinel'))).toEqual([]);
    for (const log of await setup.tellSentinels('ACL', 'LOG')) expect(log).toEqual([]);
  });

  test('whom they refuse has no lock: a typed error, not a wait without an end', async () => {
    const { service } = await clients.start(setup.options);
    await expect(service.acquire('k')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
  });

  async function hasClientsOfLock({
    admin,
  }: Awaited<ReturnType<SentinelSetup['primary']>>): Promise<boolean> {
    return ((await admin.pubsub('CHANNELS', '*:client:*')) as string[]).length > 0;
  }
});
