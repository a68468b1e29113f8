import { timeBetween } from '../support/bounds.js';
import { SLACK } from '../support/history/check-limits.js';
import { stamp, type RequestEvent } from '../support/history/events.js';
import type { RemoteRequest } from '../support/history/remote-request.js';
import type { WorkerProcess } from '../support/history/worker-process.js';
import { InProcessClients } from '../support/in-process-client.js';
import { GRACE, holderAndLine, LEASE, TIME_LIMIT, Scene, WINDOW } from './scene.js';

/** So many requests of a process stand next to each other in line. */
const SOME = 10;

describe('killed processes', () => {
  let scene: Scene;
  let observers: InProcessClients;
  beforeEach(async () => {
    scene = await Scene.open();
    observers = new InProcessClients(scene.lab.prefix);
  });
  afterEach(async () => {
    await observers.close();
    await scene.close();
  });

  test('the holder: the next is granted the lock at the end of the lease, and not before', async () => {
    const { service } = await observers.start(scene.server.url);
    const [holder, survivor] = await scene.workers(2);
    const [first, next] = await holderAndLine('k', holder, survivor);
    const asked = stamp();
    const left = (await service.inspect('k')).holder?.leaseLeft ?? NaN;
    const killed = stamp();
    await holder.kill();
    const granted = await next!.granted(TIME_LIMIT);
    expect(timeBetween(asked, granted)).toBeGreaterThanOrEqual(left);
    await scene.expectWithin(killed, granted, LEASE);
    expect(granted.token).toBeGreaterThan(first.find('granted')?.token ?? NaN);
    await next!.release();
    await scene.lab.closeWorkers();
    expect(scene.lab.verify()).toMatchObject({ grants: 2, excused: 0 });
  });

  test.each([
    ['a new request', {}],
    ['a try', { waitTime: 0 }],
  ])('all that wait: %s is served when they have had their time to come back', async (_, options) => {
    const [holder, doomed] = await scene.workers(2);
    const [first] = await holderAndLine('k', holder, doomed);
    await doomed.kill();
    await first.release();
    const newcomer = holder.ask('k', options);
    await scene.expectWithin(await newcomer.event('sent'), await newcomer.granted(), GRACE);
    await newcomer.release();
    await scene.lab.closeWorkers();
    scene.lab.verify({ wakeUp: ({ stalled }) => GRACE + SLACK + stalled });
  });

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

  test('1,000 waiters of 8 processes before a live one: it is served at once, however many they are', async () => {
    const [k, processes] = [1_000, 8];
    const doomed = await scene.lab.workersAlike(processes);
    const [holder, survivor] = await scene.workers(2);
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

  test('100 waiters of 5 processes before a live one, their sockets half-open: it is served after one liveness window', async () => {
    const [k, processes] = [100, 5];
    const doomed = await scene.lab.workersAlike(processes, { redis: scene.proxy.url });
    const [holder, survivor] = await scene.workers(2);
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
