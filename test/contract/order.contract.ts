import { jest } from '@jest/globals';
import { LockQueueFullError } from '../../lib/core/errors/errors.js';
import { pause } from '../support/waiting.js';
import { serve, type TestRequest, type Bench } from './store-under-test.js';

/** Who is served, and when: exclusion, first come first served, tokens, the length of the line. */
export function describeOrder(bench: Bench): void {
  test('two hundred requests, each acknowledged before the next asks, learn how many are ahead and are served in that order', async () => {
    const key = bench.key();
    const holder = await bench.hold(0, key);
    const asks: TestRequest[] = [];
    for (let ahead = 0; ahead < 200; ahead += 1) {
      const ask = await bench.askInLine(ahead, key);
      expect(await ask.queued()).toBe(ahead);
      asks.push(ask);
    }
    await holder.release();
    expect(await serve(asks)).toEqual(Array.from({ length: 200 }, (_, i) => i));
  });

  test('a thousand locks are held at once', async () => {
    const keys = Array.from({ length: 1_000 }, () => bench.key());
    const grants = await Promise.all(keys.map((key, i) => bench.hold(i, key)));
    expect(new Set(grants.map(({ lease }) => lease.state))).toEqual(new Set(['held']));
    await Promise.all(grants.map((grant) => grant.release()));
  });

  test('a request that is served at once is not told of a line', async () => {
    const onQueued = jest.fn();
    const grant = await bench.hold(0, bench.key(), { onQueued });
    await grant.release();
    expect(onQueued).not.toHaveBeenCalled();
  });

  test('a grant says how long it was waited for', async () => {
    const key = bench.key();
    const start = performance.now();
    const holder = await bench.hold(0, key);
    expect(holder.waited).toBeLessThanOrEqual(performance.now() - start);
    const ask = await bench.askInLine(1, key);
    const joined = performance.now();
    await pause(50);
    const inLine = performance.now() - joined;
    await holder.release();
    const grant = await ask.granted();
    await grant.release();
    expect(grant.waited).toBeGreaterThanOrEqual(inLine);
    expect(grant.waited).toBeLessThanOrEqual(performance.now() - start);
  });

  test('a line of maxQueue refuses the next one, who does not join it', async () => {
    const key = bench.key();
    const holder = await bench.hold(0, key);
    const first = await bench.askInLine(0, key, { maxQueue: 2 });
    const second = await bench.askInLine(1, key, { maxQueue: 2 });
    const error = await bench.ask(2, key, { maxQueue: 2 }).refused();
    expect(error).toBeInstanceOf(LockQueueFullError);
    expect(error).toMatchObject({ code: 'QUEUE_FULL', key, maxQueue: 2 });

    await holder.release();
    const grant = await first.granted();
    const third = await bench.askInLine(2, key, { maxQueue: 2 }); // there is room again
    await grant.release();
    await (await second.granted()).release();
    await (await third.granted()).release();
  });

  test('maxQueue 0 takes a free lock and refuses to wait for a busy one', async () => {
    const key = bench.key();
    const holder = await bench.hold(0, key, { maxQueue: 0 });
    expect(await bench.ask(1, key, { maxQueue: 0 }).refused()).toBeInstanceOf(LockQueueFullError);
    await holder.release();
  });

  if (bench.capabilities.fencing) {
    test('tokens rise in grant order: by hand-over, after a rest, after force, over all clients', async () => {
      const key = bench.key();
      const tokens: number[] = [];
      const note = ({ token }: { token: number | undefined }): void => void tokens.push(token ?? NaN);
      for (let round = 0; round < 5; round += 1) {
        const holder = await bench.hold(round, key);
        const asks: TestRequest[] = [];
        for (let i = 0; i < 4; i += 1) asks.push(await bench.askInLine(i, key));
        note(holder);
        if (round % 2 === 0) await holder.release();
        else await bench.client(1).forceRelease(key);
        for (const ask of asks) {
          const grant = await ask.granted();
          note(grant);
          await grant.release();
        }
      }
      expect(tokens).toHaveLength(25);
      for (const [i, token] of tokens.entries()) expect(token).toBeGreaterThan(tokens[i - 1] ?? 0);
      expect(tokens.every(Number.isSafeInteger)).toBe(true);
    });
  } else {
    test('a store without fencing grants no token', async () => {
      const grant = await bench.hold(0, bench.key());
      expect(grant.token).toBeUndefined();
      await grant.release();
    });
  }
}
