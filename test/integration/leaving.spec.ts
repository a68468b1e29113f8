import { expectWithin, timeBetween } from '../support/bounds.js';
import { Lab } from '../support/history/lab.js';
import { SLACK } from '../support/history/check-limits.js';
import { type WorkerProcess } from '../support/history/worker-process.js';
import { redisUrl } from '../support/redis.js';
import { TcpProxy } from '../support/tcp-proxy.js';

const TIME_LIMIT = 60_000;

describe('a request that leaves the line', () => {
  let lab: Lab;
  let proxy: TcpProxy;
  beforeEach(async () => {
    lab = new Lab(redisUrl());
    await lab.watchStalls();
    proxy = await TcpProxy.start(redisUrl());
  });
  afterEach(async () => {
    await lab.close();
    await proxy.close();
  });

  test('because of its wait time or its caller is not granted the lock any more, and the others move up', async () => {
    const [one, other, third] = (await lab.workersAlike(3)) as [WorkerProcess, WorkerProcess, WorkerProcess];
    const holder = one.ask('k');
    await holder.granted();
    const impatient = other.ask('k', { waitTime: 300 });
    await impatient.queued();
    const aborted = third.ask('k');
    await aborted.queued();
    const patient = one.ask('k');
    expect((await patient.queued()).ahead).toBe(2);

    aborted.abort();
    await aborted.event('aborted');
    const [asked, timedOut] = [await impatient.event('sent'), await impatient.event('timeout')];
    expect(timeBetween(asked, timedOut)).toBeGreaterThanOrEqual(300);
    // After that the server is given 100 ms to say who was in the way.
    await expectWithin(lab, asked, timedOut, 300 + 100);

    const last = other.ask('k');
    expect((await last.queued()).ahead).toBe(1);
    await holder.release();
    await patient.granted();
    await patient.release();
    await last.granted();
    await last.release();
    await lab.closeWorkers();
    expect(lab.verify()).toMatchObject({ grants: 3, timeouts: 1, aborted: 1, errors: 0 });
  });

  test('because of its caller does so at once, also where the server cannot be reached', async () => {
    const [holder, cutOff] = [await lab.worker(), await lab.worker({ redis: proxy.url })];
    const holding = holder.ask('k');
    await holding.granted();
    const aborted = cutOff.ask('k');
    await aborted.queued();
    const heal = proxy.blackHole();
    aborted.abort();
    // 100 ms in all, of which the machine may take what others need it for.
    await expectWithin(lab, await aborted.event('abortSent'), await aborted.event('aborted'), 100 - SLACK);
    heal();
    await holding.release();
  });

  test('may do so at any moment, that of the grant included: the lock is never held twice, nor lost', async () => {
    const workers = await lab.workersAlike(3);
    const load = {
      requests: 300,
      concurrency: 12,
      keyPrefix: 'lock',
      locks: 2,
      longestHold: 3,
      waitTime: 400,
      timeoutShare: 0.3,
      abortShare: 0.3,
      nestedShare: 0,
    };
    await Promise.all(workers.map((worker, i) => worker.load({ ...load, seed: 100 + i }, TIME_LIMIT)));
    await lab.closeWorkers();
    const report = lab.verify();
    expect(report).toMatchObject({ requests: 900, errors: 0, lost: 0, excused: 0 });
    // A run in which no request left, or none stayed, would show nothing.
    for (const many of [report.grants, report.timeouts, report.aborted]) expect(many).toBeGreaterThan(50);
  });
});
