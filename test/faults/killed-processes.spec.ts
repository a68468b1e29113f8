import { stamp, type HistoryEvent, type RequestEvent, type WorkerEvent } from '../support/history/events.js';
import type { RemoteRequest } from '../support/history/remote-request.js';
import type { WorkerProcess } from '../support/history/worker-process.js';
import { holderAndLine, isHeld, LEASE, TIME_LIMIT, Scene, serve, WINDOW } from './scene.js';

type Two = [WorkerProcess, WorkerProcess];

/** So many requests of a process stand next to each other in line. */
const SOME = 10;

describe('processes that end', () => {
  let scene: Scene;
  beforeEach(async () => {
    scene = await Scene.open();
  });
  afterEach(() => scene.close());

  test('a killed holder: the next is granted when the lease is over, with a higher token', async () => {
    const [holder, ...others] = (await scene.workers(3)) as [...Two, WorkerProcess];
    const [first, ...line] = await holderAndLine('k', holder, ...others);
    const killed = stamp();
    await holder.kill();
    const next = await line[0]!.granted(TIME_LIMIT);
    await scene.expectWithin(killed, next, LEASE);
    expect(next.token).toBeGreaterThan(first.find('granted')?.token ?? NaN);
    expect(await serve(line)).toEqual(line.map(({ name }) => name));
    await scene.lab.closeWorkers();
    expect(scene.lab.verify()).toMatchObject({ grants: 3, lost: 0, errors: 0, excused: 0 });
  });

  test('a holder that is closed: it drains and hands over, and its waiters leave the line', async () => {
    const [holder, other] = (await scene.workers(2)) as Two;
    const [first, mine, next] = await holderAndLine('k', holder, holder, other);
    const closed = holder.close();
    const refused = await mine!.event('error', TIME_LIMIT);
    expect(refused.code).toBe('SHUTTING_DOWN');
    const drained = await first.event('releaseSent', TIME_LIMIT);
    await scene.expectWithin(drained, await next!.granted(TIME_LIMIT), 0);
    await closed;
    await next!.release();
    await scene.lab.closeWorkers();
    expect(scene.lab.verify()).toMatchObject({ grants: 2, lost: 0, errors: 1, excused: 0 });
  });

  test('a holder that is closed and does not come out of its section: it hands over when the drain time is over', async () => {
    const [holder, other] = (await scene.workers(2)) as Two;
    const drainTimeout = 500;
    const slow = await scene.lab.worker({ engine: { drainTimeout } });
    const first = slow.ask('k', { holdFor: LEASE / 2 });
    await first.granted();
    const next = other.ask('k');
    await next.queued();
    const isClosing = (event: HistoryEvent): event is WorkerEvent =>
      event.type === 'closing' && event.worker === slow.name;
    const closed = slow.close();
    const closing = await scene.lab.history.first(isClosing, TIME_LIMIT, 'the closing');
    await scene.expectWithin(closing, await next.granted(TIME_LIMIT), drainTimeout);
    await next.release();
    await closed;
    const free = holder.ask('k');
    await free.granted();
    await free.release();
    await scene.lab.closeWorkers();
    scene.lab.verify();
  });
});

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
      // Twenty processes on two busy cores: not each of them is answered within the command deadline.
      left -= outcomes.filter(({ type }) => type === 'acked').length;
    }
  };

  test.each([
    { k: 1, processes: 1 },
    { k: 5, processes: 2 },
    { k: 100, processes: 5 },
    { k: 1_000, processes: 20 },
  ])(
    '$k of $processes processes before a live one: it is served at once, however many they are',
    async ({ k, processes }) => {
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
    },
    90_000,
  );

  test.each([
    { k: 1, processes: 1 },
    { k: 5, processes: 2 },
    { k: 100, processes: 5 },
  ])(
    '$k of $processes processes before a live one, their sockets half-open: it is served after one liveness window',
    async ({ k, processes }) => {
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
    },
  );

  test('at the head, in the middle and at the tail: the living are served at once, in their order', async () => {
    const [holder, doomed, ...others] = (await scene.workers(4)) as [...Two, ...WorkerProcess[]];
    const [one, other] = others as Two;
    const [first, ...line] = await holderAndLine(
      'k',
      holder,
      doomed,
      one,
      doomed,
      doomed,
      other,
      one,
      doomed,
    );
    await doomed.kill();
    const living = line.filter(({ worker }) => worker !== doomed.name);
    const served = serve(living);
    void first.release();
    await scene.expectWithin(await first.event('releaseSent'), await living[0]!.granted(TIME_LIMIT), 0);
    expect(await served).toEqual(living.map(({ name }) => name));
    const after = holder.ask('k');
    await after.granted();
    expect(await isHeld(after)).toBe(true);
    await after.release();
    await scene.lab.closeWorkers();
    expect(scene.lab.verify()).toMatchObject({ grants: 5, lost: 0, errors: 0, excused: 0 });
  });
});

function queuedOrRefused(request: RemoteRequest): Promise<RequestEvent> {
  return Promise.race([request.queued(TIME_LIMIT), request.event('error', TIME_LIMIT)]);
}
