import { LockDeadlockError, LockLostError, LockTimeoutError } from '../../../../lib/core/errors/errors.js';
import { bench, leftovers, NOTHING, outcome, rejection, type Bench } from '../support.js';

let b: Bench;
beforeEach(() => (b = bench()));
afterEach(async () => {
  expect(leftovers(b.engine)).toEqual(NOTHING);
  await b.engine.close();
});

const A = { owner: 'A' };
const B = { owner: 'B' };

describe('an explicit owner', () => {
  it('re-enters at once, and gives the lock back when all its holds are released', async () => {
    const first = await b.engine.acquire('k', A);
    const second = await b.engine.acquire('k', A);
    expect([first.holdCount, second.holdCount]).toEqual([2, 2]);
    expect(second.token).toBe(first.token);
    await first.release();
    expect(second.state).toBe('held');
    expect(second.holdCount).toBe(1);
    expect(await b.store.held('k')).toBe(true);
    await second.release();
    expect(await b.store.held('k')).toBe(false);
    expect(b.store.acquires).toBe(1);
  });

  it('excludes another owner, and those without one', async () => {
    const first = await b.engine.acquire('k', A);
    expect(await b.engine.tryAcquire('k', B)).toBeUndefined();
    expect(await b.engine.tryAcquire('k')).toBeUndefined();
    await first.release();
    const other = await b.engine.tryAcquire('k', B);
    expect(other).toBeDefined();
    expect(await b.engine.tryAcquire('k', A)).toBeUndefined();
    await other?.release();
  });

  it('is read anew for each call, also of frozen options where a getter tells it', async () => {
    let asking = 'A';
    const options = Object.freeze({
      get owner(): string {
        return asking;
      },
    });
    const first = await b.engine.acquire('k', options);
    asking = 'B';
    expect(await b.engine.tryAcquire('k', options)).toBeUndefined();
    await first.release();
    class Options {
      get owner(): string {
        return asking;
      }
    }
    const ofClass = Object.freeze(new Options());
    const second = await b.engine.acquire('k', ofClass);
    asking = 'A';
    expect(await b.engine.tryAcquire('k', ofClass)).toBeUndefined();
    await second.release();
  });

  it('takes the place of the async flow: inside a section it is another asker', async () => {
    await b.engine.withLock('k', async () => {
      expect(await b.engine.tryAcquire('k', A)).toBeUndefined();
      await b.engine.withLock('x', () => b.engine.withLock('x', () => undefined, A), A);
    });
  });

  it('does not exclude itself: its sections run side by side', async () => {
    let both = 0;
    let most = 0;
    const section = async (): Promise<void> => {
      most = Math.max(most, (both += 1));
      await outcome(Promise.resolve());
      both -= 1;
    };
    await b.engine.withLock(
      'k',
      () => Promise.all([b.engine.withLock('k', section, A), b.engine.withLock('k', section, A)]),
      A,
    );
    expect(most).toBe(2);
  });

  it('gives its section a scope, in which a request without owner nests', async () => {
    await b.engine.withLock('k', () => b.engine.withLock('k', () => undefined), A);
    expect(b.store.acquires).toBe(1);
  });

  it('that asks several times in line is served with all of them by the first grant', async () => {
    const other = await b.engine.acquire('k');
    const first = b.engine.acquire('k', A);
    const stranger = b.engine.acquire('k');
    const second = b.engine.acquire('k', A);
    await other.release();
    const [one, two] = await Promise.all([first, second]);
    expect(two.token).toBe(one.token);
    expect(one.holdCount).toBe(2);
    expect(await outcome(stranger)).toBe('pending');
    await one.release();
    expect(await outcome(stranger)).toBe('pending');
    await two.release();
    await (await stranger).release();
  });

  it('stands in line with each of its requests: one that gives up does not cost another its place', async () => {
    const other = await b.engine.acquire('k');
    const controller = new AbortController();
    const first = rejection(b.engine.acquire('k', { ...A, signal: controller.signal }));
    const second = b.engine.acquire('k', A);
    const stranger = b.engine.acquire('k');
    controller.abort();
    expect(await first).toMatchObject({ code: 'ABORTED' });
    await other.release();
    const lock = await second;
    expect(await outcome(stranger)).toBe('pending');
    await lock.release();
    await (await stranger).release();
  });

  it('does not re-enter a hold that is lost', async () => {
    const first = await b.engine.acquire('k', A);
    b.store.lose('k');
    expect(await rejection(b.engine.acquire('k', A))).toBeInstanceOf(LockLostError);
    await first.release();
    await (await b.engine.acquire('k', A)).release();
  });

  it('with reentrant: false gets a LockDeadlockError that names the owner', async () => {
    const first = await b.engine.acquire('k', A);
    const error = await rejection(b.engine.acquire('k', { ...A, reentrant: false }));
    expect(error).toBeInstanceOf(LockDeadlockError);
    expect(error.details).toContain('the owner "A" holds it already');
    await first.release();
  });

  it('with reentrant: false gets it too for what it asked before it held the lock', async () => {
    const sections = [1, 2, 3].map((n) => b.engine.withLock('k', () => n, { ...A, reentrant: false }));
    expect(await sections[0]).toBe(1);
    for (const section of sections.slice(1)) {
      expect(await rejection(section)).toBeInstanceOf(LockDeadlockError);
    }
  });

  it('that was served anew after its first grant was lost holds the new one', async () => {
    const other = await b.engine.acquire('k');
    const [first, second] = [b.engine.acquire('k', A), b.engine.acquire('k', A)];
    // Both in one go: the first is granted and lost before the engine learns of it, so the second is granted too.
    const released = other.release();
    const forced = b.store.forceRelease('k');
    await Promise.all([released, forced]);
    expect((await first).state).toBe('lost');
    expect((await second).state).toBe('held');
    expect((await first).holdCount).toBe(1);
    await (await first).release();
    const third = await b.engine.acquire('k', A);
    expect(third.holdCount).toBe(2);
    await third.release();
    await (await second).release();
  });

  it('that was served anew before its first grant, which was lost, has ended holds the new one', async () => {
    const first = rejection(b.engine.withLock('k', () => undefined, A));
    const second = b.engine.acquire('k', A);
    await b.store.forceRelease('k');
    expect(await first).toBeInstanceOf(LockLostError);
    const lock = await second;
    const third = await b.engine.tryAcquire('k', A);
    expect(third?.token).toBe(lock.token);
    await third?.release();
    await lock.release();
  });

  it('leaves the line by its own wait time', async () => {
    const other = await b.engine.acquire('k');
    const error = await rejection(b.engine.acquire('k', { ...A, waitTime: 10 }));
    expect(error).toBeInstanceOf(LockTimeoutError);
    expect(error).toMatchObject({ waitTime: 10 });
    await other.release();
  });

  it('is forgotten when it neither holds nor waits', async () => {
    const other = await b.engine.acquire('k');
    await rejection(b.engine.acquire('k', { ...A, waitTime: 1 }));
    await other.release();
    await b.engine.withLock(['k', 'l'], () => undefined, A);
    expect(leftovers(b.engine)).toEqual(NOTHING);
  });
});
