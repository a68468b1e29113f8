import { stamp } from '../support/history/events.js';
import type { WorkerProcess } from '../support/history/worker-process.js';
import { pause } from '../support/waiting.js';
import {
  DEADLINE,
  HEARTBEAT,
  holderAndLine,
  isHeld,
  LEASE,
  MARGIN,
  PATIENT_TIMES,
  TIME_LIMIT,
  Scene,
} from './scene.js';

describe('CLIENT PAUSE', () => {
  let scene: Scene;
  let holder: WorkerProcess;
  let other: WorkerProcess;
  beforeAll(async () => {
    scene = await Scene.open();
    [holder, other] = await scene.workers(2);
  });
  afterAll(() => scene.close());

  test('shorter than the command deadline: requests wait for it to end', async () => {
    const first = holder.ask('held');
    await first.granted();
    const length = 0.6 * DEADLINE;
    const heal = await pauseServer(scene, length);
    const asked = other.ask('k');
    await scene.expectWithin(await asked.event('sent'), await asked.granted(), length);
    heal();
    await asked.release();
    await pause(HEARTBEAT);
    expect(await isHeld(first)).toBe(true);
    await first.release();
    expect(await scene.verdict()).toMatchObject({ grants: 2, lost: 0, errors: 0, excused: 0 });
  });

  test('longer than the lease: the holder learns that it is lost before the lease is over, and the next is served', async () => {
    const [first, next] = await holderAndLine('k', holder, other);
    const heal = await pauseServer(scene, LEASE + DEADLINE);
    const from = stamp();
    const lost = await first.event('lost', TIME_LIMIT);
    // Counted from the last renewal, which was before.
    await scene.expectWithin(from, lost, LEASE - MARGIN);
    await scene.admin.ping();
    heal();
    const back = stamp();
    await scene.expectWithin(back, await next!.granted(TIME_LIMIT), HEARTBEAT);
    expect(await isHeld(first)).toBe(false);
    await first.release();
    expect(await isHeld(next!)).toBe(true);
    await next!.release();
    expect(await scene.verdict()).toMatchObject({ grants: 2, lost: 1, errors: 0, excused: 0 });
  });
});

test('CLIENT PAUSE longer than the command deadline: a typed error then, no ghost in line afterwards, and the holder goes on', async () => {
  const { commandTimeout, livenessWindow } = PATIENT_TIMES;
  const scene = await Scene.open({}, PATIENT_TIMES);
  try {
    const [holder, other] = await scene.workers(2);
    const first = holder.ask('held');
    await first.granted();
    const heal = await pauseServer(scene, 1.5 * commandTimeout);
    const asked = other.ask('k');
    const inLine = other.ask('held');
    for (const request of [asked, inLine]) {
      const refused = await request.event('error');
      expect(refused.code).toBe('STORE_UNAVAILABLE');
      await scene.expectWithin(await request.event('sent'), refused, commandTimeout);
    }
    await scene.admin.ping(); // answered when it is over
    heal();
    const back = stamp();
    const next = holder.ask('k');
    await scene.expectWithin(back, await next.granted(), 0);
    await next.release();
    await pause(livenessWindow / 3);
    expect(await isHeld(first)).toBe(true);
    expect(await scene.admin.zcard(`${scene.lab.prefix}:{held}:queue`)).toBe(0);
    await first.release();
    await scene.lab.closeWorkers();
    expect(scene.lab.verify()).toMatchObject({ grants: 2, lost: 0, errors: 2, excused: 0 });
  } finally {
    await scene.close();
  }
});

async function pauseServer({ lab, admin }: Scene, ms: number): Promise<() => void> {
  const { heal } = lab.history.fault('serverAway');
  await admin.call('CLIENT', 'PAUSE', String(ms), 'ALL');
  return heal;
}
