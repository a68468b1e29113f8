import { LockHolderChangedError, LockLostError, LockTimeoutError } from '../../lib/core/errors/errors.js';
import { safetyMargin } from '../../lib/core/port/lease.js';
import { type NamedGrant } from '../../lib/core/port/lock-store.js';
import { Stopwatch } from '../support/stopwatch.js';
import { block, eventually, pause, SOON } from '../support/waiting.js';
import { type Bench } from './store-under-test.js';

/** A fixed lease, longer than any margin that a store takes off it. */
const LEASE = 500;
/** One that is not over before its holder gives it back, on a machine that is busy. */
const LONG_LEASE = 2_000;
/** One that is renewed in time on a machine that stands still for three seconds. */
const RENEWED = 6_000;

/** How a grant ends: given back, run out, taken by force. */
export function describeLease(bench: Bench): void {
  test('release hands the lock on, and is idempotent', async () => {
    const key = bench.key();
    const first = await bench.hold(0, key);
    const waiter = await bench.askInLine(1, key);
    await Promise.all([first.release(), first.release()]);
    const second = await waiter.granted();
    expect(first.lease.state).toBe('released');
    await first.release();
    expect(second.lease.state).toBe('held');
    expect(await bench.ask(2, key, { waitTime: 0 }).refused()).toBeInstanceOf(LockTimeoutError);
    await second.release();
    await second.release();
  });

  test('a fixed lease runs out: the holder learns that it is lost, then the next is served, not before its end', async () => {
    const key = bench.key();
    const events: string[] = [];
    const sent = performance.now();
    const watch = new Stopwatch();
    const holder = await bench.hold(0, key, { leaseTime: LEASE });
    holder.lease.signal.addEventListener('abort', () => events.push('lost'));
    holder.lease.onLost(() => events.push('told'));
    const next = await bench.askInLine(1, key);
    // There is a margin, in which the section can end.
    expect(holder.lease.remaining()).toBeLessThanOrEqual(LEASE - safetyMargin(LEASE));

    const grant = await next.granted();
    const [elapsed, counted] = [performance.now() - sent, watch.stop()];
    events.push('next granted');
    expect(events).toEqual(['lost', 'told', 'next granted']);
    expect(elapsed).toBeGreaterThanOrEqual(LEASE);
    // It is the end of the lease that served the next, nothing later: two busy cores get a second for it.
    expect(counted).toBeLessThan(LEASE + 1_000);
    expect(holder.lease.state).toBe('lost');
    expect(holder.lease.signal.reason).toBeInstanceOf(LockLostError);
    expect(holder.lease.signal.reason).toMatchObject({ code: 'LOST', key });
    await grant.release();
  });

  test.each([
    ['shorter', LEASE],
    ['longer', 60_000],
  ])(
    'a lease that is fixed while it is held counts from then, %s than before: inspect shows it, and it is renewed no more',
    async (_, leaseTime) => {
      const key = bench.key();
      const holder = await bench.hold(0, key);
      const next = await bench.askInLine(1, key);
      await holder.fix(leaseTime);
      const { leaseLeft } = (await bench.client(1).inspect(key)).holder!;
      expect(leaseLeft).toBeLessThanOrEqual(leaseTime);
      expect(leaseLeft).toBeGreaterThan(leaseTime - SOON);
      if (leaseTime > LEASE) {
        await holder.release();
      } else {
        const events: string[] = [];
        holder.lease.onLost(() => events.push('lost'));
        await next.granted();
        events.push('next granted');
        expect(events).toEqual(['lost', 'next granted']);
      }
      await (await next.granted()).release();
    },
  );

  test('a fixed lease that is given back in time is not lost, and does not end the grant of the next', async () => {
    const key = bench.key();
    const first = await bench.hold(0, key, { leaseTime: LONG_LEASE });
    const waiter = await bench.askInLine(0, key);
    await first.release();
    const second = await waiter.granted();
    await pause(LONG_LEASE + 50);
    expect(first.lease.state).toBe('released');
    expect(first.lease.signal.aborted).toBe(false);
    expect(second.lease.state).toBe('held');
    expect(await bench.ask(1, key, { waitTime: 0 }).refused()).toBeInstanceOf(LockTimeoutError);
    await second.release();
  });

  test('each fixed lease in a line counts from its own grant', async () => {
    const key = bench.key();
    const holder = await bench.hold(0, key);
    const waiter = await bench.askInLine(0, key, { leaseTime: LEASE });
    const next = await bench.askInLine(1, key);
    await pause(LEASE);
    const released = performance.now();
    await holder.release();
    expect((await waiter.granted()).lease.state).toBe('held');
    await (await next.granted()).release();
    expect(performance.now() - released).toBeGreaterThanOrEqual(LEASE);
  });

  test.each([
    ['ran out while its client asked again', { leaseTime: LEASE }],
    // No request waits in between: the client has no reason to remember the lock.
    ['ran out before its client asked again', { leaseTime: LEASE }],
    ['was taken by force', {}],
  ])(
    'a grant that %s is over for good: its release does not touch what its client holds by now',
    async (end, options) => {
      const key = bench.key();
      const loser = await bench.hold(1, key, options);
      if (end === 'was taken by force') await bench.client(0).forceRelease(key);
      if (!end.includes('while')) await eventually(() => loser.lease.state === 'lost', SOON, 'the loss');
      const again = await bench.hold(1, key);
      const next = await bench.askInLine(2, key);
      await loser.release();
      expect(loser.lease.state).toBe('lost');
      expect(again.lease.state).toBe('held');
      expect(next.outcome).toBe('queued');
      const shown = await bench.client().inspect(key);
      expect(shown).toMatchObject({ holder: { token: again.token }, queueLength: 1 });
      await again.release();
      await (await next.granted()).release();
    },
  );

  test('a lease that ran out in a blocked event loop is over at once, for one of those who ask then and for its holder', async () => {
    const key = bench.key();
    const holder = await bench.hold(0, key, { leaseTime: LEASE });
    block(LEASE + 50);
    const first = bench.ask(0, key, { waitTime: 0 });
    const second = bench.ask(0, key);
    expect(holder.lease.state).toBe('lost');
    expect(holder.lease.signal.aborted).toBe(true);
    const grant = await first.granted();
    await second.queued();
    expect(grant.lease.state).toBe('held');
    await grant.release();
    await (await second.granted()).release();
  });

  if (bench.capabilities.leases) {
    test('a hold without leaseTime outlives the lease of the store', async () => {
      const key = bench.key();
      const holder = await bench.hold(await bench.extraClient(RENEWED), key);
      const waiter = await bench.askInLine(1, key);
      await pause(RENEWED * 1.5);
      expect(holder.lease.lostError ?? holder.lease.state).toBe('held');
      expect(waiter.outcome).toBe('queued');
      await holder.release();
      await (await waiter.granted()).release();
    });
  }

  test('a hold that is renewed no more is lost in the end, and the next is served', async () => {
    const key = bench.key();
    const holder = await bench.hold(await bench.briefClient(), key);
    const next = await bench.askInLine(1, key);
    holder.lease.stopRenewing('it was held for too long');
    expect(holder.lease.signal.aborted).toBe(true);
    const grant = await next.granted();
    expect(holder.lease.state).toBe('lost');
    await grant.release();
  });

  test('force ends the grant: the holder learns that it is lost, the next is served', async () => {
    const key = bench.key();
    const holder = await bench.hold(0, key);
    const next = await bench.askInLine(1, key);
    const { signal } = holder.lease;
    expect(await bench.client(2).forceRelease(key)).toBe(true);

    await eventually(() => signal.aborted, SOON, 'the holder to be told');
    expect(signal.reason).toBeInstanceOf(LockLostError);
    expect(holder.lease.state).toBe('lost');
    const grant = await next.granted();
    await holder.release();
    expect(grant.lease.state).toBe('held');
    await grant.release();
  });

  test('force that names a hold ends that one, and changes nothing when another has the lock', async () => {
    const key = bench.key();
    const holder = await bench.hold(0, key);
    const next = await bench.askInLine(1, key);
    const force = (named: NamedGrant): Promise<boolean> => bench.client(2).forceRelease(key, named);
    await expect(force({ holder: 'nobody' })).rejects.toThrow(LockHolderChangedError);
    expect(holder.lease.state).toBe('held');
    const { token, id } = (await bench.client(2).inspect(key)).holder ?? {};
    const named = token === undefined ? { holder: id } : { token };
    expect(await force(named)).toBe(true);
    const grant = await next.granted();
    await expect(force(named)).rejects.toThrow(LockHolderChangedError);
    expect(grant.lease.state).toBe('held');
    await Promise.all([holder.release(), grant.release()]);
    await expect(force(named)).rejects.toThrow(LockHolderChangedError);
  });

  test('force on a free lock says that it was not held', async () => {
    const key = bench.key();
    expect(await bench.client().forceRelease(key)).toBe(false);
    await (await bench.hold(0, key)).release();
    expect(await bench.client(1).forceRelease(key)).toBe(false);
  });
}
