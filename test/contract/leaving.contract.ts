import { jest } from '@jest/globals';
import { hostname } from 'node:os';
import { type FairLockError, LockAbortedError, LockTimeoutError } from '../../lib/core/errors/errors.js';
import { eventually, pause, SOON } from '../support/waiting.js';
import { serve, type TestRequest, type Bench } from './store-under-test.js';

/** Who gives up: a try, a wait time that ends, a caller who aborts. */
export function describeLeaving(bench: Bench): void {
  test('a try on a busy lock is refused at once, does not queue, and says who holds it', async () => {
    const key = bench.key();
    const holder = await bench.hold(0, key, { label: 'OrdersService.pay' });
    const onQueued = jest.fn();
    const error = await bench.ask(bench.whoKnows(0, 1), key, { waitTime: 0, onQueued }).refused();
    expect(error).toBeInstanceOf(LockTimeoutError);
    expect(error).toMatchObject({ code: 'WAIT_TIMEOUT', key, waitTime: 0 });
    expect((error as LockTimeoutError).details).toContain(
      `held by ${hostname()}/${process.pid}/OrdersService.pay for `,
    );
    expect(onQueued).not.toHaveBeenCalled();
    expect((await bench.client().inspect(key)).queueLength).toBe(0);
    await holder.release();
  });

  test('a try does not overtake those who wait', async () => {
    const key = bench.key();
    const holder = await bench.hold(0, key);
    const waiter = await bench.askInLine(1, key);
    const released = holder.release();
    const attempt = bench.ask(2, key, { waitTime: 0 });
    expect(await attempt.refused()).toBeInstanceOf(LockTimeoutError);
    await released;
    await (await waiter.granted()).release();
  });

  test('a wait that is over leaves the line, says whom it waited for, and the next is served', async () => {
    const key = bench.key();
    const holder = await bench.hold(0, key, { label: 'OrdersService.pay' });
    const first = await bench.askInLine(1, key);
    const start = performance.now();
    const second = await bench.askInLine(bench.whoKnows(0, 1), key, { waitTime: 100 });
    const third = await bench.askInLine(2, key);

    const blockedBy = await second.blockedBy();
    expect(performance.now() - start).toBeGreaterThanOrEqual(100);
    expect(await second.refused()).toMatchObject({ key, waitTime: 100 });
    const named = { holder: `${hostname()}/${process.pid}/OrdersService.pay`, ahead: 1 };
    expect(blockedBy ?? named).toMatchObject(named);
    expect((await bench.client().inspect(key)).queueLength).toBe(2);

    await holder.release();
    await (await first.granted()).release();
    await (await third.granted()).release();
  });

  test('the head of the line, its tail and its middle may leave, and the others keep their order', async () => {
    const key = bench.key();
    const holder = await bench.hold(0, key);
    const asks: TestRequest[] = [];
    for (let i = 0; i < 7; i += 1) asks.push(await bench.askInLine(i, key));
    for (const leaver of [0, 3, 6]) {
      asks[leaver]?.abort();
      await asks[leaver]?.refused();
    }
    const [served] = await Promise.all([serve([1, 2, 4, 5].map((i) => asks[i]!)), holder.release()]);
    expect(served).toEqual([0, 1, 2, 3]);
  });

  test('an aborted wait leaves the line with the reason of the signal', async () => {
    const key = bench.key();
    const holder = await bench.hold(0, key);
    const waiter = await bench.askInLine(1, key);
    const reason = new Error('the client has gone');
    waiter.abort(reason);
    const error = await waiter.refused();
    expect(error).toBeInstanceOf(LockAbortedError);
    expect(error).toMatchObject({ code: 'ABORTED', key, cause: reason });
    // The release goes by another connection, and may be carried out before the leave: then the lock is handed on once more.
    const left = async (): Promise<boolean> => (await bench.client().inspect(key)).queueLength === 0;
    await eventually(left, SOON, 'it to leave the line');
    await holder.release();
    await (await bench.hold(2, key, { waitTime: 0 })).release();
  });

  test('a request whose signal has aborted already does not take the lock, even a free one', async () => {
    const key = bench.key();
    const error = await bench.ask(0, key, { signal: AbortSignal.abort('too late') }).refused();
    expect(error).toBeInstanceOf(LockAbortedError);
    expect(error).toMatchObject({ cause: 'too late' });
    await (await bench.hold(1, key, { waitTime: 0 })).release();
  });

  test('a wait aborted in the very moment of the grant ends in one of the two, never both, never neither', async () => {
    const outcomes = { granted: 0, aborted: 0 };
    for (let round = 0; round < 240; round += 1) {
      const key = bench.key();
      // Neighbours in line of one client and of several: they may be served in different ways.
      const [first, second, third] = NEIGHBOURS[round % NEIGHBOURS.length] ?? [0, 0, 0];
      const holder = await bench.hold(first, key);
      const waiter = await bench.askInLine(second, key);
      const next = await bench.askInLine(third, key);

      const eventLoopTurns = (round % 40) - 1;
      if (eventLoopTurns < 0) waiter.abort();
      const released = holder.release();
      for (let i = 0; i < eventLoopTurns; i += 1) await (i < 5 ? undefined : new Promise(setImmediate));
      waiter.abort();

      const result = await waiter.settled();
      if (result.status === 'fulfilled') {
        outcomes.granted += 1;
        expect(result.value.lease.state).toBe('held');
        expect(next.outcome).toBe('queued');
        await result.value.release();
      } else {
        outcomes.aborted += 1;
        expect(result.reason).toBeInstanceOf(LockAbortedError);
      }
      await (await next.granted()).release();
      await released;
    }
    // Both happened, so the moment was met.
    expect(outcomes.granted).toBeGreaterThan(0);
    expect(outcomes.aborted).toBeGreaterThan(0);
  });

  test('a wait time that ends in the very moment of the grant ends in one of the two, never both, never neither', async () => {
    const waitTime = 60;
    const race = async (number: number): Promise<void> => {
      const key = bench.key();
      const [first, second, third] = NEIGHBOURS[number % NEIGHBOURS.length] ?? [0, 0, 0];
      const holder = await bench.hold(first, key);
      const moment = pause(waitTime - 10 + (number % 20)); // from 10 ms before to 10 ms after
      const waiter = bench.ask(second, key, { waitTime });
      const next = await bench.askInLine(third, key);
      await moment;
      const released = holder.release();
      const result = await waiter.settled();
      if (result.status === 'fulfilled') {
        expect(result.value.lease.state).toBe('held');
        expect(next.outcome).toBe('queued');
        await result.value.release();
      } else {
        // On a busy machine Redis may take longer to tell it its place than it waits.
        expect(['WAIT_TIMEOUT', 'STORE_UNAVAILABLE']).toContain((result.reason as FairLockError).code);
      }
      const grant = await next.granted();
      await Promise.all([grant.release(), released]);
    };
    // A part at a time: with all at once, two busy cores would take longer to put them in line than they wait.
    for (let part = 0; part < 200; part += 40) {
      await Promise.all(Array.from({ length: 40 }, (_, i) => race(part + i)));
    }
  });
}

/** Which clients hold, wait and wait behind. */
const NEIGHBOURS = [
  [0, 1, 2],
  [0, 0, 0],
  [0, 1, 1],
] as const;
