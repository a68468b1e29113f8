import { stamp } from '../support/history/events.js';
import type { WorkerProcess } from '../support/history/worker-process.js';
import { pause } from '../support/waiting.js';
import { DEADLINE, HEARTBEAT, holderAndLine, isHeld, LEASE, TIME_LIMIT, Scene, serve } from './scene.js';

type Three = [WorkerProcess, WorkerProcess, WorkerProcess];

describe('a server that forgets scripts, or has no memory left', () => {
  let scene: Scene;
  let workers: Three;
  beforeEach(async () => {
    scene = await Scene.open();
    workers = (await scene.workers(3)) as Three;
  });
  afterEach(() => scene.close());

  test('SCRIPT FLUSH again and again: not noticed', async () => {
    const [holder, one, other] = workers;
    const [first, ...line] = await holderAndLine('k', holder, one, other, holder, one);
    const served = serve(line);
    let ended = false;
    const flushing = (async () => {
      while (!ended) await scene.admin.script('FLUSH');
    })();
    await pause(LEASE + HEARTBEAT);
    expect(await isHeld(first)).toBe(true);
    void first.release();
    await scene.expectWithin(await first.event('releaseSent'), await line[0]!.granted(), 0);
    expect(await served).toEqual(line.map(({ name }) => name));
    ended = true;
    await flushing;
    await scene.lab.closeWorkers();
    expect(scene.lab.verify()).toMatchObject({ grants: 5, lost: 0, errors: 0, excused: 0 });
  });

  test('maxmemory full: a typed error to who asks; renewing, leaving, handing over work', async () => {
    const [holder, one, other] = workers;
    const [first, leaving, next] = await holderAndLine('k', holder, one, other);
    await scene.admin.config('SET', 'maxmemory-policy', 'noeviction');
    await scene.admin.config('SET', 'maxmemory', '1');
    const asked = one.ask('free');
    const refused = await asked.event('error', TIME_LIMIT);
    expect(refused.code).toBe('STORE_UNAVAILABLE');
    await scene.expectWithin(await asked.event('sent'), refused, DEADLINE);
    await pause(LEASE + HEARTBEAT);
    expect(await isHeld(first)).toBe(true);
    leaving!.abort();
    await leaving!.event('aborted');
    void first.release();
    await scene.expectWithin(await first.event('releaseSent'), await next!.granted(), 0);
    await next!.release();
    await scene.admin.config('SET', 'maxmemory', '0');
    const back = stamp();
    const again = one.ask('free');
    await scene.expectWithin(back, await again.granted(), 0);
    await again.release();
    await scene.lab.closeWorkers();
    expect(scene.lab.verify()).toMatchObject({ grants: 3, lost: 0, errors: 1, excused: 0 });
  });
});
