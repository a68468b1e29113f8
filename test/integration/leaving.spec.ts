import { NS_PER_MS } from '../support/history/events.js';
import { Lab } from '../support/history/lab.js';
import { type WorkerProcess } from '../support/history/worker-process.js';
import { redisUrl } from '../support/redis.js';

const PATIENCE = 20_000;

describe('a request that leaves the line', () => {
  let lab: Lab;
  beforeEach(() => (lab = new Lab(redisUrl())));
  afterEach(() => lab.close());

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
    const left = await aborted.event('aborted');
    // At once: it does not wait for the server, which the caller may not be able to reach.
    expect((left.at - (aborted.find('abortSent')?.at ?? NaN)) / NS_PER_MS).toBeLessThan(100);
    const timedOut = await impatient.event('timeout');
    const waited = (timedOut.at - (impatient.find('sent')?.at ?? NaN)) / NS_PER_MS;
    expect(waited).toBeGreaterThanOrEqual(300);
    // After that the server is given 100 ms to say who was in the way.
    expect(waited).toBeLessThan(300 + 100 + 250);

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

  test('may do so at any moment, that of the grant included: the lock is never held twice, nor lost', async () => {
    const workers = await lab.workersAlike(3);
    await lab.watchStalls();
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
    await Promise.all(workers.map((worker, i) => worker.load({ ...load, seed: 100 + i }, PATIENCE)));
    await lab.closeWorkers();
    const report = lab.verify();
    expect(report).toMatchObject({ requests: 900, errors: 0, lost: 0, excused: 0 });
    // A run in which no request left, or none stayed, would show nothing.
    for (const many of [report.grants, report.timeouts, report.aborted]) expect(many).toBeGreaterThan(50);
  });
});
