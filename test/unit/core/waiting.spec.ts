import { getEventListeners } from 'node:events';
import {
  ClientGoneError,
  LockAbortedError,
  LockLostError,
  LockTimeoutError,
} from '../../../lib/core/errors.js';
import { runForClient } from '../../../lib/core/request-scope.js';
import { bench, forClientOf, leftovers, NOTHING, outcome, rejection, settle, type Bench } from './support.js';

let b: Bench;
beforeEach(() => (b = bench()));
afterEach(async () => {
  expect(leftovers(b.engine)).toEqual(NOTHING);
  await b.engine.close();
});

describe('a wait', () => {
  it('ends with a LockTimeoutError that says how long the caller was willing to wait, and who holds', async () => {
    const holder = await b.engine.acquire('k', { label: 'Orders.pay' });
    const error = await rejection(b.engine.acquire('k', { waitTime: 20 }));
    expect(error).toBeInstanceOf(LockTimeoutError);
    expect(error).toMatchObject({ waitTime: 20, blockedBy: { ahead: 0 } });
    expect(error.details).toContain('after 20 ms');
    expect(error.details).toContain('Orders.pay');
    await holder.release();
  });

  it('ends with a LockAbortedError when its signal aborts, and leaves the line', async () => {
    const holder = await b.engine.acquire('k');
    const controller = new AbortController();
    const waiting = b.engine.acquire('k', { signal: controller.signal });
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
    const holder = await b.engine.acquire('k');
    const other = await b.engine.acquire('other');
    const waiting = rejection(b.engine.acquire('k', { signal: other.signal }));
    b.store.lose('other');
    expect(await waiting).toBeInstanceOf(LockLostError);
    await other.release();
    await holder.release();
  });

  it('does not begin when its signal has aborted already, not even to nest', async () => {
    const signal = AbortSignal.abort();
    expect(await rejection(b.engine.acquire('k', { signal }))).toBeInstanceOf(LockAbortedError);
    expect(b.store.acquires).toBe(0);
    await b.engine.withLock('k', async () => {
      expect(await rejection(b.engine.acquire('k', { signal }))).toBeInstanceOf(LockAbortedError);
    });
  });

  it('is not affected by its signal once it has ended', async () => {
    const controller = new AbortController();
    const lock = await b.engine.acquire('k', { signal: controller.signal });
    controller.abort();
    expect(lock.state).toBe('held');
    expect(lock.signal.aborted).toBe(false);
    await lock.release();
  });

  it('leaves no listener behind on its signal, nor on that of its request, however it ends', async () => {
    const [own, request] = [new AbortController(), new AbortController()];
    await forClientOf(request.signal, async () => {
      const options = { signal: own.signal };
      const lock = await b.engine.acquire('k', options);
      await rejection(b.engine.acquire('k', { ...options, waitTime: 5 }));
      await rejection(b.engine.acquire('k', { ...options, waitTime: 0 }));
      await lock.release();
      await b.engine.withLock(['k', 'l'], () => b.engine.withLock('k', () => undefined, options), options);
    });
    expect(getEventListeners(own.signal, 'abort')).toEqual([]);
    expect(getEventListeners(request.signal, 'abort')).toEqual([]);
  });

  it('keeps its place when onQueued throws; a warning is given', async () => {
    const holder = await b.engine.acquire('k');
    const places: number[] = [];
    const onQueued = (position: number): void => {
      places.push(position);
      throw new Error('callback');
    };
    const waiting = b.engine.acquire('k', { onQueued });
    const second = b.engine.acquire('k', { onQueued });
    await settle();
    expect(places).toEqual([0, 1]);
    await holder.release();
    await (await waiting).release();
    await (await second).release();
    await b.engine.withLock('k', async () => {
      const first = await b.engine.acquire('k');
      const branch = b.engine.acquire('k', { onQueued });
      await first.release();
      await (await branch).release();
    });
    expect(b.warnings).toHaveLength(3);
  });

  it('may be ended by its own onQueued', async () => {
    const holder = await b.engine.acquire('k');
    const ask = (): Promise<Error> => {
      const controller = new AbortController();
      return rejection(
        b.engine.acquire('k', { signal: controller.signal, onQueued: () => controller.abort() }),
      );
    };
    expect(await ask()).toBeInstanceOf(LockAbortedError);
    await holder.release();
    await b.engine.withLock('k', async () => {
      const first = await b.engine.acquire('k');
      expect(await ask()).toBeInstanceOf(LockAbortedError);
      await first.release();
    });
  });

  it('shares its signal with any number of others, at one listener in all', async () => {
    const controller = new AbortController();
    const holder = await b.engine.acquire('k');
    const waiting = Array.from({ length: 50 }, () =>
      rejection(b.engine.acquire('k', { signal: controller.signal })),
    );
    await settle();
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(1);
    controller.abort();
    for (const error of await Promise.all(waiting)) expect(error).toBeInstanceOf(LockAbortedError);
    await holder.release();
  });
});

describe('a request that goes away', () => {
  const pay = (): Promise<void> => b.engine.withLock('k', () => undefined);
  const handler = async (): Promise<void> => {
    await settle();
    await pay();
  };

  it('leaves the line, from a service two levels down', async () => {
    const holder = await b.engine.acquire('k');
    const request = new AbortController();
    const handled = rejection(forClientOf(request.signal, handler));
    const stays = forClientOf(new AbortController().signal, handler);
    await settle();
    await settle();
    expect(await b.store.waiting('k')).toBe(2);
    request.abort(new ClientGoneError());
    const error = await handled;
    expect(error).toBeInstanceOf(LockAbortedError);
    expect(error).toMatchObject({
      message: 'The client went away while its request waited for the lock.',
      details:
        'The client went away while its request waited for the lock "k". The request has left the line.',
      cause: new ClientGoneError(),
    });
    expect(await b.store.waiting('k')).toBe(1);
    await holder.release();
    await stays;
  });

  it('is still granted a free lock, waits in line as any other, and stays inside the holds that it takes', async () => {
    const holder = await b.engine.acquire('busy');
    await forClientOf(AbortSignal.abort(new ClientGoneError()), async () => {
      await pay();
      const waiting = b.engine.withLock('busy', pay);
      expect(await outcome(waiting)).toBe('pending');
      await holder.release();
      await waiting;
    });
  });

  it('leaves the line also when it goes between the call and the answer of the store', async () => {
    const holder = await b.engine.acquire('k');
    const request = new AbortController();
    const acquire = b.store.acquire.bind(b.store);
    b.store.acquire = async (asked) => {
      request.abort(new ClientGoneError());
      return await acquire(asked);
    };
    expect(await rejection(forClientOf(request.signal, pay))).toBeInstanceOf(LockAbortedError);
    expect(await b.store.waiting('k')).toBe(0);
    await holder.release();
  });

  it('waits on inside a hold: in the line of its own flow, in that of another key, and as an owner', async () => {
    const holder = await b.engine.acquire('other');
    const request = new AbortController();
    const done = forClientOf(request.signal, async () => {
      const owned = await b.engine.acquire('owned', { owner: 'O' });
      const asOwner = b.engine.acquire('other', { owner: 'O' });
      await b.engine.withLock('k', async () => {
        const first = await b.engine.acquire('k');
        const waits = [b.engine.acquire('k'), b.engine.acquire('other')];
        await settle();
        request.abort(new ClientGoneError());
        await first.release();
        await (await waits[0])?.release();
        await holder.release();
        await (await asOwner).release();
        await (await waits[1])?.release();
      });
      await owned.release();
      return 'finished';
    });
    expect(await done).toBe('finished');
  });

  it('stays in line where the call says requestScope: false', async () => {
    const holder = await b.engine.acquire('k');
    const request = new AbortController();
    const waiting = forClientOf(request.signal, () => b.engine.acquire('k', { requestScope: false }));
    await settle();
    request.abort(new ClientGoneError());
    expect(await outcome(waiting)).toBe('pending');
    await holder.release();
    await (await waiting).release();
  });

  it('is asked for its signal only when it begins to wait', async () => {
    let asked = 0;
    const { signal } = new AbortController();
    const client = { awaitsAnswer: true, leaving: () => ((asked += 1), signal) };
    await runForClient(client, async () => {
      await b.engine.withLock(['a', 'b'], () => b.engine.withLock('a', () => undefined));
      const lock = await b.engine.acquire('c');
      expect(await b.engine.tryAcquire('c')).toBeUndefined();
      expect(asked).toBe(0);
      await rejection(b.engine.acquire('c', { waitTime: 1 }));
      await lock.release();
      expect(asked).toBe(1);
    });
  });

  it('does not disturb a section that has begun, nor nesting that needs no wait', async () => {
    const request = new AbortController();
    const result = forClientOf(request.signal, () =>
      b.engine.withLock('k', async (lock) => {
        request.abort();
        expect(lock.signal.aborted).toBe(false);
        return await b.engine.withLock('k', () => 'finished');
      }),
    );
    expect(await result).toBe('finished');
  });

  it('may give its own signal besides', async () => {
    const holder = await b.engine.acquire('k');
    const own = new AbortController();
    const request = new AbortController();
    const ask = (): Promise<Error> => rejection(b.engine.acquire('k', { signal: own.signal }));
    const waiting = forClientOf(request.signal, ask);
    expect(await outcome(waiting)).toBe('pending');
    own.abort('own');
    expect((await waiting).cause).toBe('own');
    await holder.release();
  });
});
