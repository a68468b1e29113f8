import type { WorkerProcess } from '../support/history/worker-process.js';
import { holderAndLine, isHeld, LEASE, TIME_LIMIT, Scene, serve } from './scene.js';
import { pause } from '../support/waiting.js';

type Three = [WorkerProcess, WorkerProcess, WorkerProcess];

/** Names that could tear a key apart, or be taken for another one. */
const HOSTILE = [
  ...[' ', '\0', '\n', '{', '}', '{}', '}{', '{a}b', 'a}:queue', 'a:clients', '%', '%7b', '*', '[a]', '\\'],
  ...[
    '__proto__',
    'constructor',
    'NaN',
    '\ud800',
    '\udc00',
    '\ufffd',
    '\ud83d\ude00',
    'e\u0301',
    'é',
    '\u202e',
  ],
  ...["'", '"', '${a}', ',1,2,', 'x'.repeat(2 ** 20), `${'x'.repeat(2 ** 20)}y`],
];

describe('names', () => {
  let scene: Scene;
  let workers: Three;
  beforeEach(async () => {
    scene = await Scene.open();
    workers = (await scene.workers(3)) as Three;
  });
  afterEach(() => scene.close());

  test('that are hostile are locks like any other, each of its own, over a killed holder too', async () => {
    const [holder, one, other] = workers;
    const scenes: Awaited<ReturnType<typeof holderAndLine>>[] = [];
    for (const name of HOSTILE) scenes.push(await holderAndLine(name, holder, one, other));
    await holder.kill();
    const served = await Promise.all(scenes.map(([, ...line]) => serve(line)));
    for (const [i, [, ...line]] of scenes.entries()) expect(served[i]).toEqual(line.map(({ name }) => name));
    await scene.lab.closeWorkers();
    expect(scene.lab.verify()).toMatchObject({ grants: 3 * HOSTILE.length, errors: 0, excused: 0 });
  });

  test.each(['', ':queue', ':clients'])(
    'whose key {k}%s holds a foreign type: a typed error, the foreign value stays, others are served',
    async (suffix) => {
      const [one, two, three] = workers;
      const foreign = `${scene.lab.prefix}:{k}${suffix}`;
      const [first, next] = await holderAndLine('other', one, two);
      await scene.admin.set(foreign, 'foreign');
      // A request that is served at once need not touch all keys; one that has to wait does.
      const asked = one.ask('k');
      const outcome = await Promise.race([asked.granted(TIME_LIMIT), asked.event('error', TIME_LIMIT)]);
      const waits = two.ask('k');
      const refused = [
        await waits.event('error', TIME_LIMIT),
        ...(outcome.type === 'error' ? [outcome] : []),
      ];
      for (const error of refused) expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE' });
      await scene.expectWithin(await waits.event('sent'), refused[0]!, 0);
      if (outcome.type === 'granted') await asked.release();
      expect(await scene.admin.get(foreign)).toBe('foreign');
      expect(await scene.admin.pttl(foreign)).toBe(-1);
      await pause(LEASE);
      expect(await isHeld(first)).toBe(true);
      await first.release();
      await next!.granted();
      await next!.release();
      await scene.admin.del(foreign);
      const again = three.ask('k');
      await again.granted(TIME_LIMIT);
      await again.release();
      await scene.lab.closeWorkers();
      expect(scene.lab.verify()).toMatchObject({ lost: 0, excused: 0 });
    },
  );
});
