import { stamp } from '../support/history/events.js';
import { pause } from '../support/waiting.js';
import { isHeld, PATIENT_TIMES, Scene } from './scene.js';

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
