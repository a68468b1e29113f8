import type { RequestEvent } from '../support/history/events.js';
import type { RemoteRequest } from '../support/history/remote-request.js';
import type { WorkerProcess } from '../support/history/worker-process.js';
import { holderAndLine, TIME_LIMIT, Scene, WINDOW } from './scene.js';

type Two = [WorkerProcess, WorkerProcess];

/** So many requests of a process stand next to each other in line. */
const SOME = 10;

describe('killed waiters', () => {
  let scene: Scene;
  beforeEach(async () => {
    scene = await Scene.open();
  });
  afterEach(() => scene.close());

  /** So many in all, some of each worker in turn, all in line. */
  const inLine = async (key: string, workers: readonly WorkerProcess[], many: number): Promise<void> => {
    for (let left = many, index = 0; left > 0; index += 1) {
      const worker = workers[index % workers.length] as WorkerProcess;
      const some = Math.min(left, SOME);
      const asked = Array.from({ length: some }, () => worker.ask(key));
      const outcomes = await Promise.all(asked.map(queuedOrRefused));
      // Many processes on two busy cores: not each of them is answered within the command deadline.
      left -= outcomes.filter(({ type }) => type === 'acked').length;
    }
  };

  test('1,000 of 8 processes before a live one: it is served at once, however many they are', async () => {
    const [k, processes] = [1_000, 8];
    const doomed = await scene.lab.workersAlike(processes);
    const [holder, survivor] = (await scene.workers(2)) as Two;
    const [first] = await holderAndLine('k', holder);
    await inLine('k', doomed, k);
    const next = survivor.ask('k');
    await next.queued();
    await Promise.all(doomed.map((worker) => worker.kill()));
    void first.release();
    await scene.expectWithin(await first.event('releaseSent'), await next.granted(TIME_LIMIT), 0);
    await next.release();
    await scene.lab.closeWorkers();
    expect(scene.lab.verify()).toMatchObject({ grants: 2, lost: 0, excused: 0 });
  }, 90_000);

  test('100 of 5 processes before a live one, their sockets half-open: it is served after one liveness window', async () => {
    const [k, processes] = [100, 5];
    const doomed = await scene.lab.workersAlike(processes, { redis: scene.proxy.url });
    const [holder, survivor] = (await scene.workers(2)) as Two;
    const [first] = await holderAndLine('k', holder);
    await inLine('k', doomed, k);
    const next = survivor.ask('k');
    await next.queued();
    scene.proxy.blackHole();
    await Promise.all(doomed.map((worker) => worker.kill()));
    void first.release();
    await scene.expectWithin(await first.event('releaseSent'), await next.granted(TIME_LIMIT), WINDOW);
    await next.release();
    await scene.lab.closeWorkers();
    expect(scene.lab.verify()).toMatchObject({ grants: 2, lost: 0, errors: 0, excused: 0 });
  });
});

function queuedOrRefused(request: RemoteRequest): Promise<RequestEvent> {
  return Promise.race([request.queued(TIME_LIMIT), request.event('error', TIME_LIMIT)]);
}
