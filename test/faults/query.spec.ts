import type { LockOverview } from '../../lib/core/port/lock-overview.js';
import { InProcessClients } from '../support/in-process-client.js';
import { Lab } from '../support/history/lab.js';
import type { WorkerProcess } from '../support/history/worker-process.js';
import { startRedisServer, type RedisServer } from '../support/redis.js';
import { SLACK } from '../support/history/check-limits.js';
import { Stopwatch } from '../support/stopwatch.js';
import { eventually } from '../support/waiting.js';

const PROCESSES = 50;
const WAITS = 200;
/** For how long `query` collects answers, ms. */
const WINDOW = 500;
/** Fifty processes on two cores need a while to start and to stand in line. */
const TIME_LIMIT = 90_000;
/** 10,000 waiting requests leave the processes little time for heartbeats, which are not what is measured here. */
const TIMES = { lease: 60_000, livenessWindow: 60_000, commandTimeout: 30_000 };

const LOAD = {
  requests: WAITS,
  concurrency: WAITS,
  keyPrefix: 'many:',
  locks: PROCESSES,
  longestHold: 0,
  waitTime: 600_000,
  timeoutShare: 0,
  abortShare: 0,
  nestedShare: 0,
};

describe('query over 50 processes with 200 waits each', () => {
  let server: RedisServer;
  let lab: Lab;
  let clients: InProcessClients;
  beforeAll(async () => {
    server = await startRedisServer();
    lab = new Lab(server.url, TIMES);
    clients = new InProcessClients(lab.prefix, TIMES);
  });
  afterAll(async () => {
    await clients.close();
    await lab.close();
    await server.stop();
  });

  /**
   * Each process has to report and to send 200 entries on whatever share of two cores it gets, so the first query may meet
   * processes that have not run for a while: one of three has to be complete.
   */
  const completeQuery = async (query: () => Promise<LockOverview>): Promise<LockOverview> => {
    for (let attempt = 1; ; attempt += 1) {
      const asked = new Stopwatch();
      const overview = await query();
      // The window bounds every query, complete or not; ε is for reading the answers, on whatever share of a core.
      expect(asked.stop()).toBeLessThanOrEqual(WINDOW + SLACK);
      if (overview.silent.length === 0 || attempt === 3) return overview;
    }
  };

  test('is complete within 500 ms, and names a process that is stopped as silent', async () => {
    const watcher = await clients.start(server.url);
    const held = await Promise.all(
      Array.from({ length: PROCESSES }, (_, i) => watcher.service.acquire(`many:${i}`)),
    );
    const workers = await lab.workersAlike(PROCESSES);
    let queued = 0;
    const unwatch = lab.history.watch(({ type }) => void (type === 'acked' && (queued += 1)));
    const loads = workers.map((worker, i) => worker.load({ ...LOAD, seed: i }, TIME_LIMIT));
    await eventually(() => queued === PROCESSES * WAITS, TIME_LIMIT, 'all requests in line');
    unwatch();

    const { locks, processes, silent, problems } = await completeQuery(() => watcher.service.query());
    expect([silent, problems, processes.length]).toEqual([[], [], PROCESSES + 1]);
    expect(processes.filter(({ waits }) => waits.length === WAITS)).toHaveLength(PROCESSES);
    expect(locks).toHaveLength(PROCESSES);
    expect(locks.every(({ holder }) => holder?.pid === process.pid)).toBe(true);

    const stopped = workers[PROCESSES / 2] as WorkerProcess;
    const { resume } = stopped.stop();
    const without = await watcher.service.query();
    resume();
    expect(without.silent).toContainEqual(expect.objectContaining({ pid: stopped.pid }));

    await Promise.all(held.map((lock) => lock.release()));
    await Promise.all(loads);
    await lab.closeWorkers();
  }, 240_000);
});
