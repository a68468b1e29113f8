import { LockQueueFullError } from '../../lib/core/errors/errors.js';
import type { FairLock } from '../../lib/core/holds/fair-lock.js';
import { InProcessClients, type InProcessClient } from '../support/in-process-client.js';
import { redisUrl, uniquePrefix } from '../support/redis.js';
import { timeUntil } from '../support/stopwatch.js';
import { deferred, eventually, SOON } from '../support/waiting.js';

/** With this the heartbeats come 40 s apart: what comes before, a holder from the line sent by itself. */
const WINDOW = 120_000;

describe('requests of one client that are granted together', () => {
  let prefix: string;
  let clients: InProcessClients;
  let many: InProcessClient;
  let other: InProcessClient;

  beforeEach(async () => {
    prefix = uniquePrefix();
    clients = new InProcessClients(prefix, { lease: 180_000, livenessWindow: WINDOW, commandTimeout: 1_000 });
    [many, other] = [await clients.start(redisUrl()), await clients.start(redisUrl())];
  });
  afterEach(() => clients.close());

  /** So many requests of one client, in line behind a holder that has just released; the first has its turn. */
  const granted = async (count: number): Promise<{ grants: Promise<FairLock>[]; first: FairLock }> => {
    const holder = await other.service.acquire('lock');
    const grants: Promise<FairLock>[] = [];
    for (let i = 0; i < count; i += 1) {
      const queued = deferred<void>();
      grants.push(many.service.acquire('lock', { label: `turn-${i}`, onQueued: () => queued.resolve() }));
      await queued.promise;
    }
    await holder.release();
    return { grants, first: await grants[0]! };
  };

  const giveBack = async (grants: readonly Promise<FairLock>[]): Promise<void> => {
    for (const grant of grants) await (await grant).release();
  };

  test('are in line for inspect as long as they have had no turn', async () => {
    const { grants, first } = await granted(20);
    const { queueLength, waiters } = await other.store.inspect('lock');
    expect(queueLength).toBe(19);
    expect(waiters).toHaveLength(19);
    expect(waiters.every(({ live }) => live)).toBe(true);
    await first.release();
    const second = await grants[1];
    await eventually(
      async () => (await other.store.inspect('lock')).queueLength === 18,
      SOON,
      'the second turn to be known',
    );
    await second?.release();
    await giveBack(grants.slice(2));
    expect((await other.store.inspect('lock')).queueLength).toBe(0);
  });

  test('are shown as holders with their own label and token', async () => {
    const { grants } = await granted(3);
    for (const [i, grant] of grants.entries()) {
      const lock = await grant;
      await eventually(
        async () => {
          const { holder } = await other.store.inspect('lock');
          return holder?.token === lock.token && (holder?.who ?? '').endsWith(`/turn-${i}`);
        },
        SOON,
        `the label and the token of turn ${i}`,
      );
      await lock.release();
    }
  });

  test('count for maxQueue, and for how many are ahead', async () => {
    const { grants } = await granted(20);
    await expect(other.service.acquire('lock', { maxQueue: 19 })).rejects.toThrow(LockQueueFullError);
    const ahead = deferred<number>();
    const last = other.service.acquire('lock', { maxQueue: 20, onQueued: (place) => ahead.resolve(place) });
    expect(await ahead.promise).toBe(19);
    await giveBack([...grants, last]);
  });

  test('can be taken away by force at any turn', async () => {
    const { grants, first } = await granted(3);
    await first.release();
    const second = await grants[1]!;
    await eventually(
      async () => (await other.store.inspect('lock')).holder?.token === second.token,
      SOON,
      'the second turn to be known',
    );
    expect(await other.store.forceRelease('lock')).toBe(true);
    await eventually(() => second.state === 'lost', SOON, 'the second turn to be lost');
    await (await grants[2]!).release();
  });
});

describe('the first lease after a handoff', () => {
  const handoff = async (
    lease: number,
    livenessWindow: number,
    section: (lock: FairLock) => Promise<void>,
  ): Promise<void> => {
    const clients = new InProcessClients(uniquePrefix(), { lease, livenessWindow, commandTimeout: 1_000 });
    try {
      const [one, two] = [await clients.start(redisUrl()), await clients.start(redisUrl())];
      const holder = await one.service.acquire('lock');
      const queued = deferred<void>();
      const next = two.service.acquire('lock', { onQueued: () => queued.resolve() });
      await queued.promise;
      await holder.release();
      const lock = await next;
      await section(lock);
      await lock.release();
    } finally {
      await clients.close();
    }
  };

  test.each([180_000, 240_000, 24 * 3_600_000])(
    'lasts for livenessWindow less a tenth of itself, whatever the watchdogTimeout (%i ms)',
    (lease) =>
      handoff(lease, WINDOW, async (lock) => {
        expect(lock.remaining()).toBeGreaterThan(0.8 * WINDOW);
        expect(lock.remaining()).toBeLessThanOrEqual(0.9 * WINDOW);
        await eventually(() => lock.remaining() > 0.8 * lease, SOON, 'the whole lease');
      }),
  );

  test('is long enough for an event loop that is blocked right after it', () =>
    handoff(90_000, 10_000, async (lock) => {
      const end = performance.now() + 1_500;
      while (performance.now() < end);
      await new Promise(setImmediate);
      expect(lock.state).toBe('held');
    }));

  test('is made whole at once where it is short, so that a blocked event loop does not lose the lock', () =>
    handoff(90_000, 1_000, async (lock) => {
      const took = await timeUntil(() => lock.remaining() > 2_000, 'the whole lease');
      // A server near by answers within this, ms; the next heartbeat would come after 333.
      expect(took).toBeLessThan(200);
      const end = performance.now() + 1_500;
      while (performance.now() < end);
      await new Promise(setImmediate);
      expect(lock.state).toBe('held');
    }));
});
