import { Redis } from 'ioredis';
import { stamp } from '../support/history/events.js';
import { Lab } from '../support/history/lab.js';
import { type RemoteRequest } from '../support/history/remote-request.js';
import { stalledFor, stallsOf } from '../support/history/stalls.js';
import { type WorkerProcess } from '../support/history/worker-process.js';
import { startRedisServer, uniquePrefix, type RedisServer } from '../support/redis.js';
import { ScriptClient } from '../support/script-client.js';
import { pause, playedWithin } from '../support/waiting.js';

/** How long a client whose subscription broke has to come back before it is passed over, ms. */
const GRACE = 250;
/** A machine that stands still for so long may keep a client from that, ms. */
const TOO_LONG = 100;

describe('when all subscriber connections are cut at once', () => {
  let server: RedisServer;
  let lab: Lab;
  beforeAll(async () => {
    server = await startRedisServer();
  });
  beforeEach(async () => {
    lab = new Lab(server.url);
    await lab.watchStalls();
  });
  afterEach(() => lab.close());
  afterAll(() => server.stop());

  /** Milliseconds from the cut to the release: before any client noticed, while some are back, when all are back. */
  const DELAYS = [0, 1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 40];

  test('none of ten waiters loses its place to a release in the same moment or soon after', async () => {
    const admin = new Redis(server.url);
    const workers = await lab.workersAlike(3, { clients: 3 });
    const [holder] = workers as [WorkerProcess];
    for (const delay of DELAYS) {
      const first = holder.ask('k');
      await first.granted();
      const waiters: RemoteRequest[] = [];
      for (let i = 0; i < 10; i += 1) {
        // Nine clients, and the first one again: none has a neighbour of its own in line.
        const waiter = (workers[i % 3] ?? holder).ask('k', { client: Math.floor(i / 3) % 3 });
        await waiter.queued();
        waiters.push(waiter);
      }
      const cut = stamp();
      await admin.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
      await pause(delay);
      const released = first.release();
      waiters.push(holder.ask('k', { client: 2 }));
      const places = new Map(waiters.map((waiter, i) => [waiter.name, i]));
      const served: (number | undefined)[] = [];
      const serve = async (waiter: RemoteRequest): Promise<void> => {
        await waiter.granted();
        served.push(places.get(waiter.name));
        await waiter.release();
      };
      await Promise.all([released, ...waiters.map(serve)]);
      if (stalledFor(stallsOf(lab.history.events), cut, stamp()) > TOO_LONG) continue;
      expect({ delay, served }).toEqual({ delay, served: waiters.map((_, i) => i) });
    }
    admin.disconnect();
    await lab.closeWorkers();
    // The reconnect grace is added to the usual bound.
    const report = lab.verify({ wakeUp: ({ stalled }) => 500 + stalled });
    expect(report).toMatchObject({ grants: 12 * DELAYS.length, excused: 0, lost: 0, errors: 0 });
  });

  test('a client that reports no subscription does not overtake one whose subscription is down just now', () =>
    playedWithin(GRACE, async () => {
      const redis = new Redis(server.url);
      const prefix = uniquePrefix();
      try {
        const times = { window: 2_000, lease: 3_000, grace: GRACE };
        const client = (): ScriptClient => new ScriptClient(redis, prefix, times);
        const [holder, first, second] = [client(), client(), client()];
        // It was subscribed to this server for long, and its channel has no listener any more.
        first.subscribed = [/run_id:(\w+)/.exec(await redis.info('server'))?.[1] ?? '', 10_000];
        const grant = await holder.acquire();
        const { sequence } = await first.acquire();
        await second.acquire();
        await holder.release(grant.first, grant.sequence);
        expect((await second.heartbeat()).batch).toBe('');
        // Back within the grace.
        expect((await first.heartbeat()).batch).toBe(String(sequence));
      } finally {
        redis.disconnect();
      }
    }));
});
