import { InProcessClients } from '../support/in-process-client.js';
import { NEEDED_COMMANDS } from './rights.js';
import { Scene } from './scene.js';

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
    const { prefix } = scene.lab;
    const rights = NEEDED_COMMANDS.filter((name) => name !== missing).map((name) => `+${name}`);
    const user = `without-${missing}`;
    await scene.admin.call(
      'ACL',
      'SETUSER',
      user,
      'on',
      '>secret',
      `~${prefix}:*`,
      'resetchannels', // a new user of Redis 6.2 has all of them
      `&${prefix}:*`,
      ...rights,
    );
    const url = scene.server.url.replace('redis://', `redis://${encodeURIComponent(user)}:secret@`);
    const client = await clients.start(url);
    expect(client.warnings.join('\n').toLowerCase()).toContain(missing);
    expect(client.warnings.join('\n')).not.toContain('secret');
  });
});
