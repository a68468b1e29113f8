import { stamp } from '../support/history/events.js';
import type { Several } from '../support/history/lab.js';
import { pause } from '../support/waiting.js';
import { HEARTBEAT, holderAndLine, RENEWAL, TIME_LIMIT, Scene, serve, WINDOW } from './scene.js';

/** What the keys of a lock are called, after its name, and whether the grant is in it. */
const KEYS = [
  { suffix: '', what: 'the hash', grantIn: true },
  { suffix: ':queue', what: 'the queue', grantIn: false },
  { suffix: ':clients', what: 'the clients', grantIn: false },
] as const;

let scene: Scene;
let workers: Several<4>;
beforeAll(async () => {
  scene = await Scene.open();
  workers = await scene.workers(4);
});
afterAll(() => scene.close());

describe.each(KEYS)('$what of a lock is evicted', ({ suffix, grantIn }) => {
  /** Recorded, and deleted as an eviction does it: all at once, without a word. */
  const evict = async (): Promise<() => void> => {
    const { heal } = scene.lab.history.fault('dataLost', { key: 'k' });
    expect(await scene.admin.del(`${scene.lab.prefix}:{k}${suffix}`)).toBe(1);
    return heal;
  };

  test('while it is held and three wait: the holder notices, or goes on; then all are served', async () => {
    const [first, ...line] = await holderAndLine('k', ...workers);
    const evicted = stamp();
    const heal = await evict();
    if (grantIn) {
      await scene.expectWithin(evicted, await first.event('lost', TIME_LIMIT), RENEWAL);
    } else {
      await pause(RENEWAL + WINDOW);
      expect(first.find('lost')).toBeUndefined();
    }
    heal();
    const served = serve(line);
    await first.release();
    const released = await first.event('releaseSent');
    await Promise.all(line.map((request) => request.granted(TIME_LIMIT)));
    if (!grantIn) await scene.expectWithin(released, await line[0]!.granted(), 0);
    // Without the queue the order is unknown; with it, the line stands.
    if (!grantIn) expect(await served).toEqual(line.map(({ name }) => name));
    else expect((await served).sort()).toEqual(line.map(({ name }) => name).sort());
    expect(await scene.verdict()).toMatchObject({ grants: 4, errors: 0, lost: grantIn ? 1 : 0 });
  });

  test('in the moment of the release: no wedge, the next is granted in time, all are served', async () => {
    const [first, ...line] = await holderAndLine('k', ...workers);
    const evicted = stamp();
    const heal = await evict();
    void first.release();
    const served = serve(line);
    const next = await Promise.race(line.map((request) => request.granted(TIME_LIMIT)));
    await scene.expectWithin(evicted, next, HEARTBEAT + WINDOW);
    await served;
    heal();
    const after = workers[0].ask('k');
    await scene.expectWithin(await after.event('sent'), await after.granted(TIME_LIMIT), 0);
    await after.release();
    expect(await scene.verdict()).toMatchObject({ grants: 5, errors: 0 });
  });
});
