import { expectWithin } from '../support/bounds.js';
import { NS_PER_MS, stamp } from '../support/history/events.js';
import { Lab, USUAL_TIMES } from '../support/history/lab.js';
import { type RemoteRequest } from '../support/history/remote-request.js';
import { SLACK as HANDOVER } from '../support/history/check-limits.js';
import { type WorkerProcess } from '../support/history/worker-process.js';
import { InProcessClients } from '../support/in-process-client.js';
import { redisUrl } from '../support/redis.js';

/** How long a client whose connections broke may take to come back before it is passed over by one who came back. */
const GRACE = 250;

describe('when processes are killed', () => {
  let lab: Lab;
  let observers: InProcessClients;
  beforeEach(async () => {
    lab = new Lab(redisUrl());
    await lab.watchStalls();
    observers = new InProcessClients(lab.prefix);
  });
  afterEach(async () => {
    await observers.close();
    await lab.close();
  });

  /** Each in line when the next one asks. */
  const inLine = async (workers: readonly WorkerProcess[], clients: number): Promise<RemoteRequest[]> => {
    const requests = [];
    for (let client = 0; client < clients; client += 1) {
      for (const worker of workers) {
        const request = worker.ask('k', { client });
        await request.queued();
        requests.push(request);
      }
    }
    return requests;
  };

  test('waiters between killed ones are served in their order', async () => {
    const [holder, doomed, ...others] = (await lab.workersAlike(4)) as [
      WorkerProcess,
      WorkerProcess,
      ...WorkerProcess[],
    ];
    const first = holder.ask('k');
    await first.granted();
    const living: RemoteRequest[] = [];
    for (let i = 0; i < 6; i += 1) {
      await inLine([doomed], 1);
      living.push(...(await inLine([others[i % 2] ?? holder], 1)));
    }
    await doomed.kill();
    await first.release();
    let before = 0;
    for (const request of living) {
      const { token } = await request.granted();
      expect(token).toBeGreaterThan(before);
      before = token ?? NaN;
      await request.release();
    }
    await lab.closeWorkers();
    expect(lab.verify()).toMatchObject({ grants: 7, excused: 0 });
  });

  test.each([
    ['a new request', undefined],
    ['a try', 0],
  ])('%s behind killed waiters only is served after the reconnect grace', async (_, waitTime) => {
    const [holder, doomed] = (await lab.workersAlike(2)) as [WorkerProcess, WorkerProcess];
    const first = holder.ask('k');
    await first.granted();
    await inLine([doomed], 1);
    await doomed.kill();
    await first.release();
    const newcomer = holder.ask('k', { ...(waitTime !== undefined && { waitTime }) });
    // The killed one may be a living one whose connections have just broken: the grace is its time to come back.
    await expectWithin(lab, await newcomer.event('sent'), await newcomer.granted(), GRACE);
    await newcomer.release();
    await lab.closeWorkers();
    lab.verify({ wakeUp: ({ stalled }) => GRACE + HANDOVER + stalled });
  });

  test('the lock of a killed holder goes to the next at the end of the lease, and not before', async () => {
    const observer = await observers.start(redisUrl());
    const [holder, survivor] = (await lab.workersAlike(2)) as [WorkerProcess, WorkerProcess];
    const first = holder.ask('k');
    const { token } = await first.granted();
    const next = survivor.ask('k');
    await next.queued();

    const asked = stamp();
    const left = (await observer.service.inspect('k')).holder?.leaseLeft ?? NaN;
    const killed = stamp();
    await holder.kill();
    const granted = await next.granted(2 * USUAL_TIMES.lease);
    expect((granted.at - asked) / NS_PER_MS).toBeGreaterThanOrEqual(left);
    await expectWithin(lab, killed, granted, USUAL_TIMES.lease);
    expect(granted.token).toBeGreaterThan(token ?? NaN);
    await next.release();
    await lab.closeWorkers();
    expect(lab.verify()).toMatchObject({ grants: 2, excused: 0 });
  });
});
