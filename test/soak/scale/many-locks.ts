import { NS_PER_MS, stamp } from '../../support/history/events.js';
import type { WorkerProcess } from '../../support/history/worker-process.js';
import { eventually } from '../../support/waiting.js';
import { lookForTtls } from '../leftovers.js';
import { rounded, scriptTime, since } from './measures.js';
import { TIME_LIMIT, type Scene } from './scene.js';

const LOCKS = 10_000;
const RENEWALS = 3;

/**
 * One process holds them all for longer than a lease, which three renewals make: one that was not renewed would be lost.
 * Hence L = W = 10 s, renewed every 3.3 s: three of them in a short run, and 9 s for one that a busy machine delays.
 */
export async function manyLocks(scene: Scene) {
  const [holder] = (await scene.start(1)) as [WorkerProcess];
  const asked = performance.now();
  const requests = Array.from({ length: LOCKS }, (_, i) => holder.ask(`held-${i}`));
  const grants = await Promise.all(requests.map((request) => request.granted(TIME_LIMIT)));
  const granted = performance.now();
  scene.print('all are held');

  const held = await scriptTime(scene.admin);
  const last = Math.max(...grants.map(({ at }) => at));
  const renewed = async (): Promise<boolean> =>
    stamp() - last > scene.lab.times.lease * NS_PER_MS &&
    since(held, await scriptTime(scene.admin)).calls >= RENEWALS * LOCKS;
  await eventually(renewed, TIME_LIMIT, `${RENEWALS} renewals of ${LOCKS} locks`);
  const { calls, usec } = since(held, await scriptTime(scene.admin));
  const heldMs = performance.now() - granted;
  await lookForTtls(scene.admin, scene.lab);
  scene.print('all are renewed');

  const releasing = performance.now();
  await Promise.all(requests.map((request) => request.release(TIME_LIMIT)));
  const released = performance.now();
  return {
    locks: LOCKS,
    renewals: rounded(calls / LOCKS),
    heldSeconds: rounded(heldMs / 1_000, 1),
    acquireMs: rounded((granted - asked) / LOCKS),
    releaseMs: rounded((released - releasing) / LOCKS),
    serverUsPerRenewal: rounded(usec / calls),
    lost: requests.filter((request) => request.find('lost')).length,
  };
}
