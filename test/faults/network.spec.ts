import { stamp } from '../support/history/events.js';
import type { WorkerProcess } from '../support/history/worker-process.js';
import { pause } from '../support/waiting.js';
import { DEADLINE, RENEWAL, holderAndLine, isHeld, LEASE, MARGIN, TIME_LIMIT, Scene } from './scene.js';

describe('a network in trouble', () => {
  let scene: Scene;
  let holder: WorkerProcess;
  let other: WorkerProcess;
  let accept: () => void;
  beforeAll(async () => {
    scene = await Scene.open();
    [holder, other] = await holderBehindProxy(scene);
  });
  afterAll(() => scene.close());

  test.each([
    { what: 'a black hole both ways', begin: () => scene.proxy.blackHole() },
    { what: 'a black hole to the server', begin: () => scene.proxy.blackHole({ direction: 'toServer' }) },
    {
      what: 'a black hole to the client',
      begin: () => scene.proxy.blackHole({ direction: 'toClient' }),
      // The server receives one more renewal, whose reply is lost.
      renewed: RENEWAL,
    },
    {
      what: 'a latency of 2 s',
      begin: () => scene.proxy.disturb({ delay: 2_000 }),
      // One more renewal is sent, and comes 2 s later.
      renewed: RENEWAL + 2_000,
    },
    { what: 'one byte a second', begin: () => scene.proxy.disturb({ bytesPerSecond: 1 }) },
  ])(
    '$what: a typed error at the command deadline, lost before the lease is over, the next served then',
    async ({ begin, renewed = 0 }) => {
      const [first, next] = await holderAndLine('k', holder, other);
      const { heal } = scene.lab.history.fault('cut', { victim: holder.name });
      const from = stamp();
      const end = begin();
      const asked = holder.ask('free', { waitTime: 10_000 });
      const refused = await asked.event('error', TIME_LIMIT);
      expect(refused.code).toBe('STORE_UNAVAILABLE');
      await scene.expectWithin(await asked.event('sent'), refused, DEADLINE);
      await scene.expectWithin(from, await first.event('lost', TIME_LIMIT), LEASE - MARGIN);
      await scene.expectWithin(from, await next!.granted(TIME_LIMIT), LEASE + renewed);
      end();
      heal();
      const again = holder.ask('k');
      await again.queued(TIME_LIMIT);
      await first.release();
      expect(await isHeld(next!)).toBe(true);
      await next!.release();
      await again.granted();
      await again.release();
      expect(await scene.verdict()).toMatchObject({ grants: 3, lost: 1, errors: 1, excused: 0 });
    },
  );

  test.each([
    {
      what: 'connections are refused',
      begin: () => scene.proxy.refuse(),
      end: (): Promise<void> => scene.proxy.listen(),
    },
    {
      what: 'a front accepts them and then closes',
      begin: () => void (accept = scene.proxy.acceptAndClose()),
      end: () => accept(),
    },
  ])(
    'after a reset $what: an error and not a hang, lost before the lease is over',
    async ({ begin, end }) => {
      const [first, next] = await holderAndLine('k', holder, other);
      const { heal } = scene.lab.history.fault('cut', { victim: holder.name });
      const from = stamp();
      await begin();
      scene.proxy.cut();
      const asked = holder.ask('free', { waitTime: 10_000 });
      const refused = await asked.event('error', TIME_LIMIT);
      expect(refused.code).toBe('STORE_UNAVAILABLE');
      await scene.expectWithin(await asked.event('sent'), refused, DEADLINE);
      await scene.expectWithin(from, await first.event('lost', TIME_LIMIT), LEASE - MARGIN);
      await scene.expectWithin(from, await next!.granted(TIME_LIMIT), LEASE);
      await end();
      heal();
      await next!.release();
      await first.release();
      expect(await scene.verdict()).toMatchObject({ grants: 2, lost: 1, errors: 1, excused: 0 });
    },
  );

  test.each(['client', 'server'] as const)(
    'a half-close towards the %s: found out, connected anew, nothing lost',
    async (side) => {
      const [first, next] = await holderAndLine('k', other, holder);
      const mine = holder.ask('mine');
      await mine.granted();
      const { heal } = scene.lab.history.fault('cut', { victim: holder.name });
      scene.proxy.halfClose(side);
      const asked = holder.ask('free');
      await scene.expectWithin(await asked.event('sent'), await asked.granted(TIME_LIMIT), DEADLINE);
      await asked.release();
      await pause(LEASE);
      heal();
      expect(await isHeld(mine)).toBe(true);
      await first.release();
      await scene.expectWithin(await first.event('releaseSent'), await next!.granted(), 0);
      await next!.release();
      await mine.release();
      expect(await scene.verdict()).toMatchObject({ grants: 4, lost: 0, errors: 0, excused: 0 });
    },
  );
});

/** A worker whose traffic passes the front, and one with a way of its own. */
async function holderBehindProxy(scene: Scene): Promise<[WorkerProcess, WorkerProcess]> {
  const [[holder], [other]] = await Promise.all([scene.behindProxy(1), scene.workers(1)]);
  return [holder, other];
}
