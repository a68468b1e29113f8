import { NS_PER_MS, stamp } from '../support/history/events.js';
import type { RemoteRequest } from '../support/history/remote-request.js';
import type { WorkerProcess } from '../support/history/worker-process.js';
import { pause } from '../support/waiting.js';
import { holderAndLine, TIME_LIMIT, Scene, serve } from './scene.js';

type Three = [WorkerProcess, WorkerProcess, WorkerProcess];

describe('waits that end', () => {
  let scene: Scene;
  beforeEach(async () => {
    scene = await Scene.open();
  });
  afterEach(() => scene.close());

  test.each([
    { how: 'whose time is over', options: { waitTime: 300 }, end: undefined },
    { how: 'that are aborted', options: {}, end: 'abort' },
  ] as const)(
    '$how at the head, in the middle and at the tail: they leave, the others keep their order',
    async ({ options, end }) => {
      const [holder, one, other] = (await scene.workers(3)) as Three;
      const [first] = await holderAndLine('k', holder);
      const staying: RemoteRequest[] = [];
      const leaving: RemoteRequest[] = [];
      for (let i = 0; i < 9; i += 1) {
        const leaves = i % 3 !== 1;
        const request = (i % 2 ? one : other).ask('k', leaves ? options : {});
        await request.queued();
        (leaves ? leaving : staying).push(request);
      }
      if (end) for (const request of leaving) request.abort();
      for (const request of leaving) await request.event(end ? 'aborted' : 'timeout', TIME_LIMIT);
      const served = serve(staying);
      void first.release();
      await scene.expectWithin(await first.event('releaseSent'), await staying[0]!.granted(), 0);
      expect(await served).toEqual(staying.map(({ name }) => name));
      await scene.lab.closeWorkers();
      expect(scene.lab.verify()).toMatchObject({ grants: 4, lost: 0, errors: 0, excused: 0 });
    },
  );

  test.each([{ how: 'time out' }, { how: 'are aborted' }])(
    'that $how in the moment of the grant: one outcome each, and the lock moves on',
    async ({ how }) => {
      const [holder, one, other] = (await scene.workers(3)) as Three;
      for (let i = 0; i < 30; i += 1) {
        const [first] = await holderAndLine('k', holder);
        const leaving = one.ask('k', how === 'time out' ? { waitTime: 40, holdFor: 0 } : { holdFor: 0 });
        // On a busy machine its time may be over before it is in line.
        await Promise.race([leaving.queued(), leaving.event('timeout')]);
        const next = other.ask('k');
        await next.queued();
        // From some milliseconds before to some after the end of the wait.
        if (how === 'time out')
          await pause(Math.max(0, 34 - (stamp() - (await leaving.event('sent')).at) / NS_PER_MS + (i % 10)));
        else leaving.abort();
        void first.release();
        await next.granted(TIME_LIMIT);
        await next.release();
      }
      await scene.lab.closeWorkers();
      const report = scene.lab.verify();
      expect(report).toMatchObject({ lost: 0, errors: 0, excused: 0 });
      expect(report.grants + report.timeouts + report.aborted).toBe(90);
    },
  );
});
