import { stamp } from '../support/history/events.js';
import { InProcessClients } from '../support/in-process-client.js';
import { pause } from '../support/waiting.js';
import { DEADLINE, LEASE, TIME_LIMIT, Scene } from './scene.js';

/** The commands that a Redis user of the native store needs. */
const NEEDED_COMMANDS = [
  'eval evalsha info subscribe',
  'time hget hmget hset hdel hlen hexists hscan exists del pexpire pttl zadd zcard zscore zrank zrange zrevrange zrem zremrangebyscore',
  'publish pubsub|numsub',
]
  .join(' ')
  .split(' ');

describe('a Redis user without one of the rights that the lock needs', () => {
  let scene: Scene;
  let clients: InProcessClients;
  beforeAll(async () => {
    scene = await Scene.open();
    clients = new InProcessClients(scene.lab.prefix);
  });
  afterAll(async () => {
    await clients.close();
    await scene.close();
  });

  test.each(NEEDED_COMMANDS)('%s: a warning at start names it', async (missing) => {
    const user = `without-${missing}`;
    const others = NEEDED_COMMANDS.filter((name) => name !== missing);
    await addUser(scene, user, others);
    const url = scene.server.url.replace('redis://', `redis://${encodeURIComponent(user)}:secret@`);
    const client = await clients.start(url);
    expect(client.warnings.join('\n').toLowerCase()).toContain(missing);
    expect(client.warnings.join('\n')).not.toContain('secret');
  });
});

describe('a Redis user whose rights are taken away while it holds a lock', () => {
  let scene: Scene;
  let clients: InProcessClients;
  beforeEach(async () => {
    scene = await Scene.open();
    clients = new InProcessClients(scene.lab.prefix);
    await scene.admin.call('ACL', 'SETUSER', 'lock', 'on', '>secret', '~*', '&*', '+@all');
  });
  afterEach(async () => {
    await clients.close();
    await scene.close();
  });

  test('gives the lock back when it has them again, also where that takes longer than a lease that is renewed', async () => {
    const client = await clients.start(scene.server.url.replace('redis://', 'redis://lock:secret@'));
    const [fixed, renewed] = await Promise.all([
      client.service.acquire('fixed', { leaseTime: 10 * LEASE }),
      client.service.acquire('renewed'),
    ]);
    await scene.admin.call('ACL', 'SETUSER', 'lock', '-evalsha', '-eval');
    // The caller does not wait for what may take a lease.
    await Promise.all([fixed.release(), renewed.release()]);
    await expect(client.service.acquire('free')).rejects.toMatchObject({ failure: 'not-permitted' });
    await pause(LEASE + DEADLINE);
    await scene.admin.call('ACL', 'SETUSER', 'lock', '+evalsha', '+eval');
    const back = stamp();
    const other = await clients.start(scene.server.url);
    const lock = await other.service.acquire('fixed', { waitTime: TIME_LIMIT / 2 });
    await scene.expectWithin(back, stamp(), DEADLINE);
    await lock.release();
  });
});

/** A user who may run these commands, on the keys and channels of the lab alone. */
async function addUser({ admin, lab }: Scene, name: string, commands: readonly string[]): Promise<void> {
  const rights = [
    `~${lab.prefix}:*`,
    'resetchannels',
    `&${lab.prefix}:*`,
    ...commands.map((one) => `+${one}`),
  ];
  // A new user of Redis 6.2 has all channels.
  await admin.call('ACL', 'SETUSER', name, 'on', '>secret', ...rights);
}
