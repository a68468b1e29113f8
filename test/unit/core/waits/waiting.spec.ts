import { getEventListeners } from 'node:events';
import { LockAbortedError, LockLostError, LockTimeoutError } from '../../../../lib/core/errors/errors.js';
import { bench, forClientOf, leftovers, NOTHING, rejection, settle, type Bench } from '../support.js';

let b: Bench;
beforeEach(() => (b = bench()));
afterEach(async () => {
  expect(leftovers(b.engine)).toEqual(NOTHING);
  await b.engine.close();
});

describe('a wait', () => {
  it('ends with a LockTimeoutError that says how long the caller was willing to wait, and who holds', async () => {
    const holder = await b.service.acquire('k', { label: 'Orders.pay' });
    const error = await rejection(b.service.acquire('k', { waitTime: 20 }));
    expect(error).toBeInstanceOf(LockTimeoutError);
    expect(error).toMatchObject({ waitTime: 20, blockedBy: { ahead: 0 } });
    expect(error.details).toContain('after 20 ms');
    expect(error.details).toContain('Orders.pay');
    await holder.release();
  });

  it('ends with a LockAbortedError when its signal aborts, and leaves the line', async () => {
    const holder = await b.service.acquire('k');
    const controller = new AbortController();
    const waiting = b.service.acquire('k', { signal: controller.signal });
    await settle();
    expect(await b.store.waiting('k')).toBe(1);
    controller.abort('enough');
    const error = await rejection(waiting);
    expect(error).toBeInstanceOf(LockAbortedError);
    expect(error.cause).toBe('enough');
    expect(await b.store.waiting('k')).toBe(0);
    await holder.release();
  });

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

  it('keeps its place when onQueued throws; a warning is given', async () => {
    const holder = await b.service.acquire('k');
    const places: number[] = [];
    const onQueued = (position: number): void => {
      places.push(position);
      throw new Error('callback');
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
    expect(b.warnings).toHaveLength(3);
  });

  it('keeps its place, and the process lives on, when an async onQueued rejects; a warning is given', async () => {
    const holder = await b.service.acquire('k');
    // Jest fails the test for a rejection without a handler.
    const onQueued = (): unknown => Promise.reject(new Error('callback'));
    const waiting = b.service.acquire('k', { onQueued });
    await settle();
    expect(b.warnings).toEqual([
      'onQueued threw; the request stays in the queue. See nestjs-fair-lock/docs/service.md#acquire.',
    ]);
    await holder.release();
    await (await waiting).release();
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

  it('shares its signal with any number of others, at one listener in all', async () => {
    const controller = new AbortController();
    const holder = await b.service.acquire('k');
    const waiting = Array.from({ length: 50 }, () =>
      rejection(b.service.acquire('k', { signal: controller.signal })),
    );
    await settle();
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(1);
    controller.abort();
    for (const error of await Promise.all(waiting)) expect(error).toBeInstanceOf(LockAbortedError);
    await holder.release();
  });
});
