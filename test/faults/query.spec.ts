import type { LockOverview } from '../../lib/core/query/lock-overview.js';
import { InProcessClients } from '../support/in-process-client.js';
import { Lab } from '../support/history/lab.js';
import type { WorkerProcess } from '../support/history/worker-process.js';
import { startRedisServer, type RedisServer } from '../support/redis.js';
import { stamp } from '../support/history/events.js';
import { stalledFor, stallsOf } from '../support/history/stalls.js';
import { expectWithin } from '../support/bounds.js';
import { eventually } from '../support/waiting.js';

const PROCESSES = 6;
const WAITS = 500;
/** For how long `query` collects answers, ms. */
const WINDOW = 500;
/** Processes on two cores need a while to start and to stand in line. */
const TIME_LIMIT = 90_000;
/** So many waiting requests leave the processes little time for heartbeats, which are not what is measured here. */
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

describe('query over 6 processes with 500 waits each', () => {
  let server: RedisServer;
  let lab: Lab;
  let clients: InProcessClients;
  let workers: WorkerProcess[];
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

  /** Who did not answer although it had its turn: on two busy cores a process may get none for half the time. */
  const silentWithoutExcuse = ({ processes }: LockOverview, from: number, to: number): string[] => {
    const stalls = stallsOf(lab.history.events);
    return workers
      .filter(({ pid }) => !processes.some((process) => process.pid === pid))
      .filter(({ name }) => stalledFor(stalls, from, to, new Set([name])) < WINDOW / 2)
      .map(({ name }) => name);
  };

  test('is complete within 500 ms, and names a process that is stopped as silent', async () => {
    const watcher = await clients.start(server.url);
    const held = await Promise.all(
      Array.from({ length: PROCESSES }, (_, i) => watcher.service.acquire(`many:${i}`)),
    );
    await lab.watchStalls();
    workers = await lab.workersAlike(PROCESSES);
    let queued = 0;
    const unwatch = lab.history.watch(({ type }) => void (type === 'acked' && (queued += 1)));
    const loads = workers.map((worker, i) => worker.load({ ...LOAD, seed: i }, TIME_LIMIT));
    await eventually(() => queued === PROCESSES * WAITS, TIME_LIMIT, 'all requests in line');
    unwatch();

    const asked = stamp();
    const overview = await watcher.service.query();
    const answered = stamp();
    await expectWithin(lab, asked, answered, WINDOW);
    const { locks, processes, silent, problems } = overview;
    expect([silentWithoutExcuse(overview, asked, answered), problems]).toEqual([[], []]);
    expect(processes).toHaveLength(PROCESSES + 1 - silent.length);
    expect(processes.filter(({ waits }) => waits.length === WAITS)).toHaveLength(PROCESSES - silent.length);
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
