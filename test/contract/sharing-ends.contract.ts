import {
  LockAbortedError,
  LockHolderChangedError,
  LockLostError,
  LockShuttingDownError,
  LockTimeoutError,
} from '../../lib/core/errors/errors.js';
import { type Grant } from '../../lib/core/port/lock-store.js';
import { eventually, pause, SOON } from '../support/waiting.js';
import { type Bench } from './store-under-test.js';
import { permits, read, type Sharing } from './shares.js';

/** A fixed lease, longer than any margin that a store takes off it. */
const LEASE = 500;
/** So long (ms) a hold is kept that its test sees the end of it. */
const KEEP = 1_000;
/** So long that a test which sees the end of it has failed. */
const FOR_EVER = 3_600_000;
/** A server counts whole milliseconds. */
const ROUNDING = 2;

/** How holds of a shared lock end, and how requests leave its line: each gives back what it has, once. */
export function describeSharingEnds(bench: Bench): void {
  const free = (key: string, client: number, sharing: Sharing): Promise<Grant> =>
    bench.hold(client, key, { ...sharing, waitTime: 0 });
  const expectBusy = async (key: string, sharing: Sharing): Promise<void> =>
    expect(await bench.ask(2, key, { ...sharing, waitTime: 0 }).refused()).toBeInstanceOf(LockTimeoutError);

  describe.each<[string, Sharing, Sharing, Sharing]>([
    ['a writer, with readers behind it,', read, {}, read],
    ['a heavy request, with light ones behind it,', permits(5, 2), permits(5, 4), permits(5)],
    ['permits, with readers behind them,', read, permits(2), read],
  ])('when the head of the line is %s', (_title, held, head, behind) => {
    test.each(['aborts', 'has waited long enough', 'is of a client that closes'])(
      'and %s, those behind it are served at once',
      async (leaving) => {
        const key = bench.key();
        const holder = await bench.hold(0, key, held);
        const closes = leaving === 'is of a client that closes' && bench.capabilities.severalClients;
        const store = closes ? await bench.extraClient() : bench.client(1);
        const waitTime = leaving === 'has waited long enough' ? 200 : 600_000;
        const leaver = await bench.askInLine(store, key, { ...head, waitTime });
        const next = [bench.ask(0, key, behind), bench.ask(2, key, behind)];
        // Those behind may be served as soon as they are in line, if the head is gone by then.
        await Promise.all(next.map((ask) => ask.queued().catch(() => undefined)));
        if (closes) await store.close();
        else if (waitTime > LEASE) leaver.abort();
        const error = await leaver.refused();
        const expected = closes
          ? LockShuttingDownError
          : waitTime > LEASE
            ? LockAbortedError
            : LockTimeoutError;
        expect(error).toBeInstanceOf(expected);
        const grants = await Promise.all(next.map((ask) => ask.granted()));
        expect(holder.lease.state).toBe('held');
        await Promise.all([holder, ...grants].map((grant) => grant.release()));
      },
    );
  });

  test('calls that one signal ends have all ended, though the end of the first would let the next in', async () => {
    const key = bench.key();
    const holder = await bench.hold(0, key, read);
    const asks = [await bench.askInLine(1, key), await bench.askInLine(1, key, read)];
    for (const ask of asks) ask.abort();
    for (const ask of asks) expect(await ask.refused()).toBeInstanceOf(LockAbortedError);
    await holder.release();
  });

  test('a fixed lease that runs out gives back its weight, once: its late release gives back nothing', async () => {
    const key = bench.key();
    const loser = await bench.hold(0, key, { ...permits(4, 3), leaseTime: LEASE });
    const other = await bench.hold(0, key, permits(6));
    const next = await bench.askInLine(1, key, permits(6, 2));
    const grant = await next.granted();
    expect(loser.lease.state).toBe('lost');
    expect(loser.lease.lostError).toBeInstanceOf(LockLostError);
    expect(other.lease.state).toBe('held');
    await loser.release();
    expect(await bench.client().inspect(key)).toMatchObject({ used: 3, limit: 6 });
    await expectBusy(key, permits(4, 2));
    await Promise.all([other.release(), grant.release()]);
  });

  test('each holder of a lock has its own lease', async () => {
    const key = bench.key();
    const brief = await bench.hold(0, key, { ...read, leaseTime: LEASE });
    const lasting = await bench.hold(0, key, read);
    await eventually(() => brief.lease.state === 'lost', SOON, 'the short lease to be over');
    await eventually(
      async () => (await bench.client(1).inspect(key)).holders.length === 1,
      SOON,
      'the store to end it',
    );
    expect(lasting.lease.state).toBe('held');
    await expectBusy(key, {});
    await Promise.all([brief.release(), lasting.release()]);
  });

  test('a holder that is renewed no more is lost in the end, and the others stay', async () => {
    const key = bench.key();
    const hung = await bench.hold(await bench.briefClient(), key, permits(2));
    const other = await bench.hold(0, key, permits(2));
    const next = await bench.askInLine(1, key, permits(2));
    hung.lease.stopRenewing('it was held for too long');
    const grant = await next.granted();
    expect(hung.lease.state).toBe('lost');
    expect(other.lease.lostError ?? other.lease.state).toBe('held');
    await hung.release();
    await Promise.all([other.release(), grant.release()]);
  });

  test('a client that closes gives back all that it holds', async () => {
    if (!bench.capabilities.severalClients) return;
    const store = await bench.extraClient();
    const key = bench.key();
    const closing = [await bench.hold(store, key, permits(5, 2)), await bench.hold(store, key, permits(5))];
    const stays = await bench.hold(0, key, permits(5));
    const next = await bench.askInLine(1, key, permits(5, 4));
    await store.close();
    const grant = await next.granted();
    expect(closing.map(({ lease }) => lease.state)).toEqual(['released', 'released']);
    await Promise.all([stays.release(), grant.release()]);
  });

  describe('force', () => {
    test('is told to each of several holders that were granted together, also where its lease is fixed', async () => {
      const key = bench.key();
      // Of the same client: the answer to its release grants them.
      const before = await bench.hold(1, key);
      const asks = [
        await bench.askInLine(1, key, { ...read, leaseTime: FOR_EVER }),
        await bench.askInLine(1, key, read),
      ];
      await before.release();
      const grants = await Promise.all(asks.map((ask) => ask.granted()));
      expect(await bench.client(2).forceRelease(key)).toBe(true);
      const isLost = ({ lease }: Grant): boolean => lease.state === 'lost';
      await eventually(() => grants.every(isLost), SOON, 'both to be told');
      await Promise.all(grants.map((grant) => grant.release()));
    });

    test('ends all holds of a lock, and the next is served', async () => {
      const key = bench.key();
      const grants: Grant[] = [];
      for (const client of [0, 0, 1]) grants.push(await bench.hold(client, key, read));
      const next = await bench.askInLine(2, key);
      expect(await bench.client(2).forceRelease(key)).toBe(true);
      const grant = await next.granted();
      await eventually(
        () => grants.every(({ lease }) => lease.state === 'lost'),
        SOON,
        'the holders to be told',
      );
      await Promise.all(grants.map((lost) => lost.release()));
      expect(grant.lease.state).toBe('held');
      await grant.release();
    });

    test('ends the one hold that it names by the id that inspect shows', async () => {
      const key = bench.key();
      const keep = await bench.hold(0, key, { ...permits(3), label: 'keep' });
      const end = await bench.hold(0, key, { ...permits(3, 2), label: 'end' });
      const { holders } = await bench.client(1).inspect(key);
      expect(new Set(holders.map(({ id }) => id)).size).toBe(2);
      const named = holders.find(({ share }) => share?.mode === 'permits' && share.weight === 2);
      expect(await bench.client(1).forceRelease(key, { holder: named?.id })).toBe(true);
      await eventually(() => end.lease.state === 'lost', SOON, 'the holder to be told');
      const next = await bench.hold(2, key, permits(3, 2));
      expect(keep.lease.state).toBe('held');
      await end.release();
      await expectBusy(key, permits(3));
      await Promise.all([keep.release(), next.release()]);
    });

    test('changes nothing if the hold that it names is over', async () => {
      const key = bench.key();
      const [over, keep] = [await bench.hold(0, key, read), await bench.hold(1, key, read)];
      const [first] = (await bench.client(1).inspect(key)).holders;
      await over.release();
      const holder = first?.id;
      for (const named of [{ holder }, { holder: 'nobody' }, { token: 1 }]) {
        await expect(bench.client(2).forceRelease(key, named)).rejects.toThrow(LockHolderChangedError);
      }
      expect(keep.lease.state).toBe('held');
      await keep.release();
      const plain = await bench.hold(0, key);
      await expect(bench.client(2).forceRelease(key, { holder })).rejects.toThrow(LockHolderChangedError);
      expect(plain.lease.state).toBe('held');
      await plain.release();
    });
  });

  describe('keeping', () => {
    test('a permit that ends early is taken until its time is over, though nobody holds it', async () => {
      const key = bench.key();
      const sent = performance.now();
      const holder = await bench.hold(0, key, { ...permits(2), alone: true });
      const other = await bench.hold(1, key, permits(2));
      await holder.release(KEEP);
      expect(await bench.client().inspect(key)).toMatchObject({ used: 2, holders: { length: 1 } });
      await expectBusy(key, permits(2));
      const next = await bench.askInLine(2, key, permits(2));
      const grant = await next.granted();
      expect(performance.now() - sent).toBeGreaterThanOrEqual(KEEP - ROUNDING);
      await Promise.all([other.release(), grant.release()]);
    });

    test('a lock of which permits are kept and none is held shows until when, and force ends it', async () => {
      const key = bench.key();
      const one = await bench.hold(0, key, { ...permits(3), alone: true });
      const other = await bench.hold(1, key, { ...permits(9), alone: true });
      await one.release(FOR_EVER);
      await other.release(FOR_EVER / 2);
      const snapshot = await bench.client().inspect(key);
      expect(snapshot).toMatchObject({ holder: undefined, holders: [], used: 2, limit: 3 });
      expect(snapshot.kept?.left).toBeGreaterThan(FOR_EVER / 2);
      await (await free(key, 2, permits(3))).release();
      await expectBusy(key, permits(9, 2));
      expect(await bench.client(2).forceRelease(key)).toBe(true);
      await (await free(key, 2, {})).release();
    });
  });

  test('inspect shows how each holds and waits, how much is taken, and of how many', async () => {
    const key = bench.key();
    const grants = [await bench.hold(0, key, permits(6, 2)), await bench.hold(1, key, permits(4))];
    const waiters = [permits(4, 4), {}, read, permits(5)];
    const asks = [];
    for (const sharing of waiters) asks.push(await bench.askInLine(0, key, sharing));
    await pause(20);
    const snapshot = await bench.client(2).inspect(key);
    expect(snapshot).toMatchObject({ used: 3, limit: 4, queueLength: 4 });
    expect(snapshot.holder).toEqual(snapshot.holders[0]);
    expect(snapshot.holders.map(({ share }) => share)).toEqual([permits(6, 2).share, permits(4).share]);
    for (const { token, id, heldFor, leaseLeft } of snapshot.holders) {
      expect([token, typeof id]).toEqual([undefined, 'string']);
      expect(heldFor ?? 20).toBeGreaterThanOrEqual(20 - ROUNDING);
      expect(leaseLeft).toBeGreaterThan(0);
    }
    expect(snapshot.waiters.map(({ share }) => share)).toEqual(waiters.map(({ share }) => share));
    for (const ask of asks.reverse()) {
      ask.abort();
      await ask.settled();
    }
    const reader = bench.ask(0, key, read);
    await Promise.all(grants.map((grant) => grant.release()));
    const other = await reader.granted();
    const shown = await bench.client(1).inspect(key);
    expect(shown).toMatchObject({ used: 1, holders: [{ share: { mode: 'read' } }] });
    expect(shown).not.toHaveProperty('limit');
    await other.release();
  });
}
