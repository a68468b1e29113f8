import { Redis } from 'ioredis';
import type { WorkerProcess } from '../support/history/worker-process.js';
import { NEEDED_COMMANDS } from './rights.js';
import { HEARTBEAT, holderAndLine, isHeld, LEASE, Scene, serve } from './scene.js';
import { pause } from '../support/waiting.js';

describe('a Redis user with only the rights that the lock needs', () => {
  let scene: Scene;
  beforeEach(async () => {
    scene = await Scene.open();
    const rights = NEEDED_COMMANDS.map((name) => `+${name}`);
    const { prefix } = scene.lab;
    await scene.admin.call(
      'ACL',
      'SETUSER',
      'lock',
      'on',
      '>secret',
      `~${prefix}:*`,
      'resetchannels', // a new user of Redis 6.2 has all of them
      `&${prefix}:*`,
      ...rights,
    );
  });
  afterEach(() => scene.close());

  test('is served, in order, renewed, and nothing that it does is denied', async () => {
    const url = scene.server.url.replace('redis://', 'redis://lock:secret@');
    const [holder, ...others] = (await scene.workers(3, { redis: url })) as [
      WorkerProcess,
      ...WorkerProcess[],
    ];
    const [first, ...line] = await holderAndLine('k', holder, ...others, holder);
    await pause(LEASE + HEARTBEAT);
    expect(await isHeld(first)).toBe(true);
    const leaving = holder.ask('k');
    await leaving.queued();
    leaving.abort();
    await leaving.event('aborted');
    const served = serve(line);
    void first.release();
    await scene.expectWithin(await first.event('releaseSent'), await line[0]!.granted(), 0);
    expect(await served).toEqual(line.map(({ name }) => name));
    await scene.lab.closeWorkers();
    expect(scene.lab.verify()).toMatchObject({ grants: 4, lost: 0, errors: 0, excused: 0 });
    expect(await denied(scene.admin)).toEqual([]);
  });
});

/**
 * What the server refused for want of a right, without ioredis's CLIENT SETINFO: ioredis goes on where that is denied,
 * and every server but Redis 7.0 writes it into the log (6.2 as `client`, since it has no rights for subcommands of it).
 */
async function denied(admin: Redis): Promise<unknown[]> {
  const entries = (await admin.call('ACL', 'LOG')) as unknown[][];
  const objects = entries.map((entry) => String(entry[entry.indexOf('object') + 1]));
  return objects.filter((object) => !/^client(\|setinfo)?$/.test(object));
}
