import { LockQueueFullError, LockTimeoutError } from '../../lib/core/errors/errors.js';
import { type Grant } from '../../lib/core/port/lock-store.js';
import { eventually, SOON } from '../support/waiting.js';
import { type TestRequest, type Bench } from './store-under-test.js';
import { permits, read, type Sharing } from './shares.js';

/** Who holds a lock together with whom: permits, readers and writers. */
export function describeSharing(bench: Bench): void {
  /** Holds the lock as each of `sharings`, of one client after the other. */
  const holdAll = async (key: string, sharings: readonly Sharing[]): Promise<Grant[]> => {
    const grants = [];
    for (const [i, sharing] of sharings.entries()) grants.push(await bench.hold(i, key, sharing));
    return grants;
  };
  const lineUp = async (key: string, sharings: readonly Sharing[]): Promise<TestRequest[]> => {
    const asks = [];
    for (const [i, sharing] of sharings.entries()) asks.push(await bench.askInLine(i, key, sharing));
    return asks;
  };
  const release = (grants: readonly Grant[]) => Promise.all(grants.map((grant) => grant.release()));
  /** None of them has been served; `bench` looks at the store first, so that what was on its way has arrived. */
  const expectWaiting = async (key: string, ...asks: readonly TestRequest[]): Promise<void> => {
    await bench.client().inspect(key);
    expect(asks.map(({ outcome }) => outcome)).toEqual(asks.map(() => 'queued'));
  };

  describe('permits', () => {
    test('as many hold the lock together as there are permits, and the next waits for the first that ends', async () => {
      const key = bench.key();
      const [first, ...others] = await holdAll(key, [permits(3), permits(3), permits(3)]);
      const [next] = await lineUp(key, [permits(3)]);
      await first!.release();
      await release([await next!.granted(), ...others]);
    });

    test('no grant that others hold beside it carries a token', async () => {
      const key = bench.key();
      const grants = await holdAll(key, [permits(2), permits(2)]);
      const [waiter] = await lineUp(key, [permits(2)]);
      await grants[0]!.release();
      grants.push(await waiter!.granted());
      expect(grants.map(({ token }) => token)).toEqual([undefined, undefined, undefined]);
      await release(grants);
    });

    test('a request of several permits waits until as many are free, and blocks those behind it, though they would fit', async () => {
      const key = bench.key();
      const [one, other] = await holdAll(key, [permits(4), permits(4)]);
      const [heavy, light] = await lineUp(key, [permits(4, 3), permits(4)]);
      await one!.release();
      const grant = await heavy!.granted();
      await expectWaiting(key, light!);
      await other!.release();
      await release([grant, await light!.granted()]);
    });

    test('an end makes room for as many as fit, in order', async () => {
      const key = bench.key();
      const [heavy, rest] = await holdAll(key, [permits(5, 4), permits(5)]);
      const asks = await lineUp(key, [permits(5), permits(5, 2), permits(5, 2), permits(5)]);
      await heavy!.release();
      const served = await Promise.all([asks[0]!.granted(), asks[1]!.granted()]);
      await expectWaiting(key, asks[2]!, asks[3]!);
      await release([...served, rest!]);
      await release([await asks[2]!.granted(), await asks[3]!.granted()]);
    });

    test('a try takes a free permit, and none that another waits for', async () => {
      const key = bench.key();
      const grants = await holdAll(key, [permits(3), { ...permits(3), waitTime: 0 }]);
      const [heavy] = await lineUp(key, [permits(3, 2)]);
      expect(await bench.ask(2, key, { ...permits(3), waitTime: 0 }).refused()).toBeInstanceOf(
        LockTimeoutError,
      );
      await release(grants);
      await release([await heavy!.granted()]);
    });

    test('maxQueue and the number ahead count those that wait, not those that hold', async () => {
      const key = bench.key();
      const grants = await holdAll(key, [permits(2), { ...permits(2), maxQueue: 0 }]);
      const [one, other] = await lineUp(key, [permits(2), { ...permits(2), maxQueue: 2 }]);
      expect([await one!.queued(), await other!.queued()]).toEqual([0, 1]);
      expect(await bench.ask(2, key, { ...permits(2), maxQueue: 2 }).refused()).toBeInstanceOf(
        LockQueueFullError,
      );
      await release(grants);
      await release([await one!.granted(), await other!.granted()]);
    });
  });

  describe('limits that differ', () => {
    test('while a call holds, no more than its own permits are taken, whatever others ask for', async () => {
      const key = bench.key();
      const [small] = await holdAll(key, [permits(2)]);
      const [large, other] = await lineUp(key, [permits(9, 2), permits(9)]);
      expect(await bench.ask(2, key, { ...permits(9), waitTime: 0 }).refused()).toBeInstanceOf(
        LockTimeoutError,
      );
      await expectWaiting(key, large!, other!);
      await small!.release();
      await release([await large!.granted(), await other!.granted()]);
    });

    test('a call is let in when it fits into its own permits as well as into those of all that hold', async () => {
      const key = bench.key();
      const holders = await holdAll(key, [permits(5), permits(4), permits(5)]);
      const [small] = await lineUp(key, [permits(2)]);
      for (const holder of holders.slice(1)) {
        await expectWaiting(key, small!);
        await holder.release();
      }
      await release([await small!.granted(), holders[0]!]);
    });

    test('a call that waits changes nothing for those in front of it', async () => {
      const key = bench.key();
      const [holder] = await holdAll(key, [permits(5, 5)]);
      const [one, other, small, last] = await lineUp(key, [
        permits(5, 2),
        permits(5, 2),
        permits(2),
        permits(5),
      ]);
      await holder!.release();
      const grants = [await one!.granted(), await other!.granted()];
      await expectWaiting(key, small!, last!);
      await grants[0]!.release();
      await expectWaiting(key, small!, last!);
      await release([grants[1]!]);
      await release([await small!.granted(), await last!.granted()]);
    });

    test('a larger limit counts when the last hold with the smaller one has ended', async () => {
      const key = bench.key();
      const [one, other] = await holdAll(key, [permits(2), permits(2)]);
      const asks = await lineUp(key, [permits(4), permits(4), permits(4)]);
      await one!.release();
      const first = await asks[0]!.granted();
      await expectWaiting(key, ...asks.slice(1));
      expect(await bench.client(2).inspect(key)).toMatchObject({ used: 2, limit: 2 });
      await other!.release();
      const grants = [first, await asks[1]!.granted(), await asks[2]!.granted()];
      expect(await bench.client(2).inspect(key)).toMatchObject({ used: 3, limit: 4 });
      await release(grants);
    });

    test.each<[string, (key: string, sharing: Sharing) => Promise<void>]>([
      [
        'is a try',
        async (key, sharing) => void (await bench.ask(1, key, { ...sharing, waitTime: 0 }).refused()),
      ],
      [
        'finds the queue full',
        async (key, sharing) => void (await bench.ask(1, key, { ...sharing, maxQueue: 0 }).refused()),
      ],
      [
        'has waited long enough',
        async (key, sharing) => void (await bench.ask(1, key, { ...sharing, waitTime: 30 }).refused()),
      ],
      [
        'aborts',
        async (key, sharing) => {
          const ask = await bench.askInLine(1, key, sharing);
          ask.abort();
          await ask.refused();
        },
      ],
      [
        'is of a client that closes',
        async (key, sharing) => {
          if (!bench.capabilities.severalClients) return;
          const store = await bench.extraClient();
          const ask = await bench.askInLine(store, key, sharing);
          await store.close();
          await ask.refused();
        },
      ],
      [
        'is taken from its holder by force',
        async (key, sharing) => {
          const grant = await bench.hold(1, key, { ...sharing, label: 'forced' });
          const { holders } = await bench.client().inspect(key);
          const { id } = holders.find(({ who }) => who.endsWith('/forced'))!;
          await bench.client().forceRelease(key, { holder: id });
          await grant.release();
        },
      ],
    ])('a call that %s changes no limit', async (way, rejected) => {
      const key = bench.key();
      const isHeld = way.includes('by force');
      const holders = await holdAll(key, [permits(5, 2), permits(4)]);
      // It does not fit, unless it is to be held first.
      for (const each of [permits(9, isHeld ? 1 : 2), permits(isHeld ? 4 : 1)]) {
        await rejected(key, each);
        const hasLeft = async () => (await bench.client(2).inspect(key)).queueLength === 0;
        await eventually(hasLeft, SOON, 'the store to know that it has left');
        expect(await bench.client(2).inspect(key)).toMatchObject({ used: 3, limit: 4 });
        expect(await bench.ask(2, key, { ...permits(9, 2), waitTime: 0 }).refused()).toBeInstanceOf(
          LockTimeoutError,
        );
        await (await bench.hold(2, key, { ...permits(9), waitTime: 0 })).release();
      }
      await release(holders);
    });
  });

  describe('readers and writers', () => {
    test('readers hold the lock together, a writer alone, and nobody overtakes it', async () => {
      const key = bench.key();
      const readers = await holdAll(key, [read, read, read]);
      const [writer, late, later] = await lineUp(key, [{}, read, read]);
      expect(await bench.ask(0, key, { ...read, waitTime: 0 }).refused()).toBeInstanceOf(LockTimeoutError);
      await release(readers.slice(1));
      await expectWaiting(key, writer!, late!, later!);
      await release(readers.slice(0, 1));
      const grant = await writer!.granted();
      expect(grant.token === undefined).toBe(!bench.capabilities.fencing);
      await expectWaiting(key, late!, later!);
      await grant.release();
      await release([await late!.granted(), await later!.granted()]);
    });

    test('a thousand readers of one client, who waited, hold the lock together', async () => {
      const key = bench.key();
      // A lease that is renewed may run out while a slow machine is busy with a thousand requests.
      const writer = await bench.hold(1, key, { leaseTime: 600_000 });
      const asks = Array.from({ length: 1_000 }, () => bench.ask(0, key, { ...read, waitTime: 600_000 }));
      await Promise.all(asks.map((ask) => ask.queued()));
      await writer.release();
      const grants = await Promise.all(asks.map((ask) => ask.granted()));
      const [next] = await lineUp(key, [{}]);
      await release(grants);
      await release([await next!.granted()]);
    });
  });

  describe('kinds on one key', () => {
    test.each([
      ['a read', 'permits', read, permits(9)],
      ['a read', 'a plain lock', read, {}],
      ['permits', 'a read', permits(9), read],
      ['permits', 'a plain lock', permits(9), {}],
      ['a plain lock', 'a read', {}, read],
      ['a plain lock', 'permits', {}, permits(9)],
    ])('%s and %s exclude each other', async (_inside, _asked, inside, asked) => {
      const key = bench.key();
      const [holder] = await holdAll(key, [inside]);
      const [first, second] = await lineUp(key, [asked, inside]);
      expect(await bench.ask(1, key, { ...asked, waitTime: 0 }).refused()).toBeInstanceOf(LockTimeoutError);
      await holder!.release();
      const grant = await first!.granted();
      await expectWaiting(key, second!);
      await grant.release();
      await release([await second!.granted()]);
    });

    test('a line of all kinds is served in order', async () => {
      const key = bench.key();
      const [holder] = await holdAll(key, [{}]);
      const groups = [[read, read], [permits(2)], [{}], [permits(2), permits(2)], [{}], [read]];
      const asks = await lineUp(key, groups.flat());
      await holder!.release();
      for (const { length } of groups) {
        const grants = await Promise.all(asks.splice(0, length).map((ask) => ask.granted()));
        await expectWaiting(key, ...asks);
        await release(grants);
      }
    });
  });
}
