import type { WorkerProcess } from '../support/history/worker-process.js';
import { script } from '../support/native-commands.js';
import { pause } from '../support/waiting.js';
import { DEADLINE, HEARTBEAT, holderAndLine, isHeld, TIME_LIMIT, Scene } from './scene.js';

/** Over before the command deadline is. */
const SHORT_LEASE = 300;

type Two = [WorkerProcess, WorkerProcess];

/** Bugs that the simulation found, in the least that shows them (docs/reliability.md). */
describe('found before', () => {
  let scene: Scene;
  beforeEach(async () => {
    scene = await Scene.open();
  });
  afterEach(() => scene.close());

  test('a section that outlives its fixed lease does not end the later grant of another one of its process', async () => {
    const [one, other] = (await scene.workers(2)) as Two;
    const old = one.ask('k', { leaseTime: 500 });
    await old.granted();
    await old.event('lost');
    await pause(500); // its lease is over on the server too
    const [present, next] = await holderAndLine('k', one, other);
    await old.release();
    await pause(2 * HEARTBEAT);
    expect(await isHeld(present)).toBe(true);
    expect(next!.find('granted')).toBeUndefined();
    await present.release();
    await next!.granted();
    await next!.release();
    await scene.lab.closeWorkers();
    expect(scene.lab.verify()).toMatchObject({ grants: 3, lost: 1, errors: 0, excused: 0 });
  });

  test('a request whose grant came while its process stood still, for longer than the lease, is granted anew', async () => {
    const [troubled] = (await scene.behindProxy(1)) as [WorkerProcess];
    const [other] = (await scene.workers(1)) as [WorkerProcess];
    // Its connections stand: its next command is executed.
    const warm = troubled.ask('warm');
    await warm.granted();
    await warm.release();
    const rule = scene.proxy.rule({ match: script('acquire') });
    const request = troubled.ask('k', { leaseTime: SHORT_LEASE });
    await rule.hit();
    const { resume } = troubled.stop();
    await pause(DEADLINE / 2);
    resume();
    const granted = await request.granted(TIME_LIMIT);
    expect(granted.token).toBeGreaterThan(0);
    const next = other.ask('k');
    await next.granted(TIME_LIMIT); // released or over
    await request.release();
    await next.release();
    await scene.lab.closeWorkers();
    expect(scene.lab.verify()).toMatchObject({ grants: 3, errors: 0 });
  });
});
