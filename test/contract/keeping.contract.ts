import { LockTimeoutError } from '../../lib/core/errors/errors.js';
import { Stopwatch } from '../support/stopwatch.js';
import { pause } from '../support/waiting.js';
import { type Bench } from './store-under-test.js';

/** For so long after its grant nobody else gets the lock, ms. Longer than a test on a busy machine holds it. */
const KEEP = 1_000;
/** So long that a test which sees the end of it has failed. */
const FOR_EVER = 3_600_000;
/** A server counts whole milliseconds, and keeps the lock for no less. */
const LONGEST = FOR_EVER + 1;
/** Two busy cores get a second to serve the next when the time is over; no store asks in vain for longer, and none waits for a lease. */
const PROMPT = 1_000;
/** A server counts whole milliseconds. */
const ROUNDING = 2;

/** A lock that its last hold keeps (`holdAtLeast`): nobody holds it, and nobody gets it yet. */
export function describeKeeping(bench: Bench): void {
  /** Serves `next`, and expects that this is when the time is over: KEEP after the grant, which came after `sent`, or little later. */
  const servedInTime = async (next: { granted(): Promise<{ release(): Promise<void> }> }, sent: number) => {
    const watch = new Stopwatch();
    const left = sent + KEEP - performance.now();
    const grant = await next.granted();
    const waited = watch.stop();
    expect(performance.now() - sent).toBeGreaterThanOrEqual(KEEP - ROUNDING);
    expect(waited).toBeLessThan(Math.max(0, left) + PROMPT);
    await grant.release();
  };

  test('a hold that ends early leaves the lock kept: nobody holds it, a try is refused, and force ends the time for who waits', async () => {
    const key = bench.key();
    const holder = await bench.hold(0, key, { alone: true, label: 'the job' });
    const next = await bench.askInLine(1, key);
    await holder.release(FOR_EVER);
    const error = await bench.ask(2, key, { waitTime: 0 }).refused();
    expect(error).toBeInstanceOf(LockTimeoutError);
    const { blockedBy } = error as LockTimeoutError;
    expect(blockedBy.heldFor).toBeUndefined();
    const snapshot = await bench.client().inspect(key);
    expect(snapshot).toMatchObject({ holder: undefined, queueLength: 1, kept: { token: holder.token } });
    for (const left of [blockedBy.keptFor, snapshot.kept?.left]) {
      expect(left).toBeGreaterThan(FOR_EVER / 2);
      expect(left).toBeLessThanOrEqual(LONGEST);
    }
    if (bench.capabilities.fencing) expect(snapshot.kept?.who).toMatch(/\/the job$/);
    expect(await bench.client(2).forceRelease(key, { token: holder.token })).toBe(true);
    await (await next.granted()).release();
    expect(await bench.client().forceRelease(key)).toBe(false);
  });

  test('a request that joins the line of a kept lock, or asks again and again, gets the lock when the time is over', async () => {
    const key = bench.key();
    const sent = performance.now();
    const holder = await bench.hold(0, key, { alone: true });
    await holder.release(KEEP);
    const next = await bench.askInLine(0, key);
    await servedInTime(next, sent);
  });

  test('the time counts from the grant: a hold that lasts longer passes the lock on at once', async () => {
    const key = bench.key();
    const holder = await bench.hold(0, key, { alone: true });
    const next = await bench.askInLine(1, key);
    await pause(50);
    await holder.release(20);
    const grant = await next.granted();
    expect(await bench.client().inspect(key)).not.toHaveProperty('kept');
    await grant.release();
  });

  test('a lock is kept for nobody longer than asked for, whatever is left of the lease', async () => {
    const key = bench.key();
    const sent = performance.now();
    const holder = await bench.hold(0, key, { alone: true, leaseTime: FOR_EVER });
    const next = await bench.askInLine(1, key);
    await holder.release(KEEP);
    await servedInTime(next, sent);
  });

  test('who waits for a kept lock may leave the line, and learns why it waited', async () => {
    const key = bench.key();
    const holder = await bench.hold(0, key, { alone: true });
    await holder.release(FOR_EVER);
    const brief = bench.ask(1, key, { waitTime: 100 });
    const { keptFor } = (await brief.blockedBy()) ?? { keptFor: FOR_EVER };
    expect(keptFor).toBeGreaterThan(FOR_EVER / 2);
    expect(await bench.client().inspect(key)).toMatchObject({ queueLength: 0 });
    expect(await bench.client().forceRelease(key)).toBe(true);
  });

  test('a release that is repeated neither ends the time nor begins it anew', async () => {
    const key = bench.key();
    const holder = await bench.hold(0, key, { alone: true });
    await Promise.all([holder.release(FOR_EVER), holder.release()]);
    await holder.release();
    expect(await bench.ask(0, key, { waitTime: 0 }).refused()).toBeInstanceOf(LockTimeoutError);
    expect(holder.lease.state).toBe('released');
    expect(await bench.client(1).forceRelease(key)).toBe(true);
    await (await bench.hold(1, key)).release();
  });

  test('a lost grant is not kept', async () => {
    const key = bench.key();
    const holder = await bench.hold(0, key, { alone: true, leaseTime: 300 });
    const next = await bench.askInLine(1, key);
    const grant = await next.granted();
    expect(holder.lease.state).toBe('lost');
    await holder.release(FOR_EVER);
    await grant.release();
    await (await bench.hold(0, key)).release();
  });

  test('of neighbours in line of one client, the one whose lock is kept makes those behind it wait', async () => {
    const key = bench.key();
    const first = await bench.hold(1, key);
    const alone = await bench.askInLine(0, key, { alone: true });
    const behind = await bench.askInLine(0, key);
    const granted = performance.now();
    await first.release();
    await (await alone.granted()).release(KEEP);
    expect(behind.outcome).toBe('queued');
    await servedInTime(behind, granted);
  });

  test('a hold among neighbours that is kept although nobody knew it would be counts from its own turn', async () => {
    const key = bench.key();
    const first = await bench.hold(1, key);
    const asks = [
      await bench.askInLine(0, key),
      await bench.askInLine(0, key),
      await bench.askInLine(0, key),
    ];
    await first.release();
    const before = await asks[0]!.granted();
    await pause(300);
    const granted = performance.now();
    await before.release();
    await (await asks[1]!.granted()).release(KEEP);
    await servedInTime(asks[2]!, granted);
  });
}
