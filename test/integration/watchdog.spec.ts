import type { FairLock } from '../../lib/core/holds/fair-lock.js';
import type { Grant } from '../../lib/core/port/lock-store.js';
import { LONG_TIMES, USUAL_TIMES } from '../support/history/lab.js';
import { InProcessClients, type InProcessClient } from '../support/in-process-client.js';
import { OwnServer } from '../support/own-server.js';
import { uniquePrefix } from '../support/redis.js';
import { Stopwatch } from '../support/stopwatch.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { deferred, eventually, pause, SOON, within } from '../support/waiting.js';
import { ask, type Asked } from '../support/ask.js';

const { lease, livenessWindow } = USUAL_TIMES;

const request = (key: string, more: Partial<Asked> = {}): Asked => ({
  key,
  waitTime: Infinity,
  maxQueue: Infinity,
  label: 'test',
  ...more,
});

describe('the watchdog', () => {
  const prefix = uniquePrefix();
  const clients = new InProcessClients(prefix);
  const own = new OwnServer();
  let proxy: TcpProxy;
  beforeEach(async () => {
    proxy = await TcpProxy.start(own.url);
  });
  afterEach(async () => {
    await clients.close();
    await proxy.close();
  });

  /** Milliseconds from now until the loss of the lock. */
  const untilLost = (lock: FairLock): Promise<number> => {
    const watch = new Stopwatch();
    const found = deferred<number>();
    lock.signal.addEventListener('abort', () => found.resolve(watch.stop()));
    return within(found.promise, SOON, 'the loss of the lock');
  };
  const leaseLeft = async (client: InProcessClient, key: string): Promise<number> =>
    (await client.store.inspect(key)).holder?.leaseLeft ?? 0;

  test('also while a renewal is under way whose answer may still come', async () => {
    // A command may take longer here than what is left of the lease when it is sent.
    const times = { lease: 1_200, livenessWindow: 1_200, commandTimeout: 1_150 };
    const slow = new InProcessClients(prefix, times);
    try {
      const [holder, observer] = [await slow.start(proxy.url), await slow.start(own.url)];
      const lock = await holder.service.acquire('slow');
      const heal = proxy.disturb({ blackHole: true }, { direction: 'toServer', role: 'commands' });
      const left = await leaseLeft(observer, 'slow');
      expect(await untilLost(lock)).toBeLessThan(left);
      heal();
      await lock.release();
    } finally {
      await slow.close();
    }
  });

  test('counts a lease from the sending of the command that was answered', async () => {
    const delay = 300;
    // A tenth of the lease that is given.
    const margin = lease / 10;
    const client = await clients.start(proxy.url);
    await (await client.service.acquire('since')).release();
    const heal = proxy.disturb({ delay }, { direction: 'toClient' });
    const first = await ask(client.store, request('since'));
    expect(first.lease.remaining()).toBeLessThanOrEqual(lease - margin - delay);
    const queued = deferred<number>();
    const waiting = ask(client.store, request('since', { onQueued: queued.resolve }));
    await queued.promise;
    await first.release();
    // This one was granted by the answer to the release.
    const second = await within(waiting, SOON, 'the second');
    expect(second.lease.remaining()).toBeLessThanOrEqual(lease - margin - delay);
    heal();
    await second.release();
  });

  test('gives the next of a batch a whole lease where the one before it was renewed no more', async () => {
    const [holder, other] = [await clients.start(own.url), await clients.start(own.url)];
    const lock = await holder.service.acquire('run');
    const places = [deferred<number>(), deferred<number>()];
    const grants = places.map(({ resolve }) => ask(other.store, request('run', { onQueued: resolve })));
    await Promise.all(places.map(({ promise }) => promise));
    await lock.release();
    const [first, second] = grants as [Promise<Grant>, Promise<Grant>];
    const grant = await within(first, SOON, 'the first of the batch');
    grant.lease.stopRenewing('it was held for too long');
    // Nearly all of it: what is left is less than a renewal takes.
    await pause(grant.lease.remaining() - 20);
    await grant.release();
    const next = await within(second, SOON, 'the second of the batch');
    expect(next.lease.remaining()).toBeGreaterThan(livenessWindow / 2);
    await next.release();
  });

  test('tells also a hold that is renewed no more when its grant is gone from Redis', async () => {
    const holder = await clients.start(own.url);
    const grant = await ask(holder.store, request('flushed'));
    const { lease: held } = grant;
    held.stopRenewing('it was held for too long');
    const reported = deferred<void>();
    held.onLost(() => reported.resolve());
    const left = held.remaining();
    await own.admin.flushall();
    const watch = new Stopwatch();
    await within(reported.promise, SOON, 'the loss');
    // By a heartbeat, well before its own end.
    expect(watch.stop()).toBeLessThan(Math.min(left, livenessWindow) - 300);
    await grant.release();
  });

  test('asks anew for a request whose only grant came too late to be entered', async () => {
    const [slow, fixed] = [900, 400];
    // No heartbeat comes between, which would find one more grant that is over.
    const patient = new InProcessClients(prefix, LONG_TIMES);
    try {
      const { store, service } = await patient.start(proxy.url);
      await (await service.acquire('late')).release();
      const heal = proxy.disturb({ delay: slow }, { direction: 'toClient' });
      const first = ask(store, request('late', { leaseTime: fixed }));
      // Its lease is over in Redis, and its answer still under way: the next is granted before the first is received.
      await pause(fixed + 20);
      const second = ask(store, request('late', { leaseTime: 5 * slow }));
      await (await within(second, SOON, 'the second')).release();
      heal();
      await (await within(first, SOON, 'the first')).release();
    } finally {
      await patient.close();
    }
  });

  test.each([1, 2, 3, 5])(
    'grants a leaseTime of %i ms, refuses it, or says that it has already elapsed, each time after a few commands',
    async (leaseTime) => {
      const client = await clients.start(proxy.url);
      let commands = 0;
      const stop = proxy.listenTo(() => (commands += 1));
      for (let i = 0; i < 20; i += 1) {
        const asked = client.service.acquire('tiny', { leaseTime }).then(
          (lock) => lock.release().catch(() => undefined),
          ({ code }: { code?: unknown }) => expect(['CONFIGURATION', 'LOST']).toContain(code),
        );
        await within(asked, SOON, 'the lock or the refusal');
      }
      stop();
      expect(commands).toBeLessThanOrEqual(20 * 15);
    },
  );

  test('refuses a leaseTime that elapses before its grants are received, after a few commands', async () => {
    const client = await clients.start(proxy.url);
    await (await client.service.acquire('tiny')).release();
    const heal = proxy.disturb({ delay: 60 }, { direction: 'toClient' });
    let commands = 0;
    const stop = proxy.listenTo(() => (commands += 1));
    try {
      const asked = client.service.acquire('tiny', { leaseTime: 50 });
      const refused = expect(asked).rejects.toMatchObject({
        code: 'CONFIGURATION',
        details: expect.stringContaining('A leaseTime of 50 ms is too short for the lock "tiny"') as string,
      });
      await within(refused, SOON, 'the refusal');
    } finally {
      stop();
      heal();
    }
    // Three acquires and a few heartbeats behind each.
    expect(commands).toBeLessThanOrEqual(15);
    await (await client.service.acquire('tiny')).release();
  });

  test('and for one whose grant was taken by force before it was received', async () => {
    const client = await clients.start(proxy.url);
    const other = await clients.start(own.url);
    await (await client.service.acquire('forced')).release();
    const revoked = proxy.messages({ match: ({ text }) => text.startsWith('lost ') });
    const answers = proxy.blackHole({ direction: 'toClient', role: 'commands' });
    const asked = ask(client.store, request('forced'));
    await eventually(() => other.service.isLocked('forced'), SOON, 'the grant');
    await other.service.forceRelease('forced');
    await revoked.hit();
    const between = await other.service.acquire('forced');
    await between.release();
    answers();
    const grant = await within(asked, SOON, 'the grant');
    // An older token would be the one that was taken.
    expect(grant.token).toBeGreaterThan(between.token ?? Infinity);
    await grant.release();
  });
});
