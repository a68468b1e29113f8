import { getEventListeners } from 'node:events';
import { LockAbortedError, LockLostError } from '../../../../lib/core/errors/errors.js';
import { benchForEach, forClientOf, rejection, settle } from '../support.js';

const b = benchForEach();

const fail = (): never => {
  throw new Error('callback');
};

describe('a wait', () => {
  it('with the signal of another hold ends with the reason for which that was lost', async () => {
    const holder = await b.service.acquire('k');
    const other = await b.service.acquire('other');
    const waiting = rejection(b.service.acquire('k', { signal: other.signal }));
    b.store.lose('other');
    expect(await waiting).toBeInstanceOf(LockLostError);
    await other.release();
    await holder.release();
  });

  it('does not begin when its signal has aborted already, not even to nest', async () => {
    const signal = AbortSignal.abort();
    expect(await rejection(b.service.acquire('k', { signal }))).toBeInstanceOf(LockAbortedError);
    expect(b.store.acquires).toBe(0);
    await b.service.withLock('k', async () => {
      expect(await rejection(b.service.acquire('k', { signal }))).toBeInstanceOf(LockAbortedError);
    });
  });

  it('is not affected by its signal once it has ended', async () => {
    const controller = new AbortController();
    const lock = await b.service.acquire('k', { signal: controller.signal });
    controller.abort();
    expect(lock.state).toBe('held');
    expect(lock.signal.aborted).toBe(false);
    await lock.release();
  });

  it('leaves no listener behind on its signal, nor on that of its request, however it ends', async () => {
    const [own, request] = [new AbortController(), new AbortController()];
    await forClientOf(request.signal, async () => {
      const options = { signal: own.signal };
      const lock = await b.service.acquire('k', options);
      await rejection(b.service.acquire('k', { ...options, waitTime: 5 }));
      await rejection(b.service.acquire('k', { ...options, waitTime: 0 }));
      await lock.release();
      await b.service.withLock(['k', 'l'], () => b.service.withLock('k', () => undefined, options), options);
    });
    expect(getEventListeners(own.signal, 'abort')).toEqual([]);
    expect(getEventListeners(request.signal, 'abort')).toEqual([]);
  });

  it.each<[string, () => unknown]>([
    ['throws', () => fail()],
    // Jest fails the test for a rejection without a handler.
    ['rejects', async () => fail()],
  ])('keeps its place when onQueued %s; a warning is given', async (_, failing) => {
    const holder = await b.service.acquire('k');
    const places: number[] = [];
    const onQueued = (position: number): unknown => {
      places.push(position);
      return failing();
    };
    const waiting = b.service.acquire('k', { onQueued });
    const second = b.service.acquire('k', { onQueued });
    await settle();
    expect(places).toEqual([0, 1]);
    await holder.release();
    await (await waiting).release();
    await (await second).release();
    await b.service.withLock('k', async () => {
      const first = await b.service.acquire('k');
      const branch = b.service.acquire('k', { onQueued });
      await first.release();
      await (await branch).release();
    });
    expect(b.warnings).toEqual(
      Array(3).fill(
        'onQueued threw; the request stays in the queue. See nestjs-fair-lock/docs/service.md#acquire.',
      ),
    );
  });

  it('may be ended by its own onQueued', async () => {
    const holder = await b.service.acquire('k');
    const ask = (): Promise<Error> => {
      const controller = new AbortController();
      return rejection(
        b.service.acquire('k', { signal: controller.signal, onQueued: () => controller.abort() }),
      );
    };
    expect(await ask()).toBeInstanceOf(LockAbortedError);
    await holder.release();
    await b.service.withLock('k', async () => {
      const first = await b.service.acquire('k');
      expect(await ask()).toBeInstanceOf(LockAbortedError);
      await first.release();
    });
  });

  it('ends when its signal aborts, which it can share with any number of others, at one listener in all', async () => {
    const controller = new AbortController();
    const holder = await b.service.acquire('k');
    const waiting = Array.from({ length: 50 }, () =>
      rejection(b.service.acquire('k', { signal: controller.signal })),
    );
    await settle();
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(1);
    controller.abort('enough');
    for (const error of await Promise.all(waiting)) {
      expect(error).toBeInstanceOf(LockAbortedError);
      expect(error.cause).toBe('enough');
    }
    expect(await b.store.waiting('k')).toBe(0);
    await holder.release();
  });
});
