import { ClientGoneError, LockAbortedError } from '../../../../lib/core/errors/errors.js';
import { runForClient } from '../../../../lib/core/runtime/async-context.js';
import { benchForEach, forClientOf, outcome, rejection, settle } from '../support.js';

const b = benchForEach({ requestScope: 'deep' });

describe("with requestScope: 'deep', a request whose client disconnects", () => {
  const pay = (): Promise<void> => b.service.withLock('k', () => undefined);
  const handler = async (): Promise<void> => {
    await settle();
    await pay();
  };

  it('leaves the line, from a service two levels down', async () => {
    const holder = await b.service.acquire('k');
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
      details: 'The client went away while its request waited for the lock "k". The call has left the queue.',
      cause: new ClientGoneError(),
    });
    expect(await b.store.waiting('k')).toBe(1);
    await holder.release();
    await stays;
  });

  it('is still granted a free lock, waits in line as any other, and stays inside the holds that it takes', async () => {
    const holder = await b.service.acquire('busy');
    await forClientOf(AbortSignal.abort(new ClientGoneError()), async () => {
      await pay();
      const waiting = b.service.withLock('busy', pay);
      expect(await outcome(waiting)).toBe('pending');
      await holder.release();
      await waiting;
    });
  });

  it('leaves the line also on a server that was begun inside a hold: no request is inside of it', async () => {
    const holder = await b.service.acquire('k');
    const request = new AbortController();
    await b.service.withLock('leader', async () => {
      const waiting = rejection(forClientOf(request.signal, pay));
      const endless = forClientOf(request.signal, () => b.service.acquire('k', { waitTime: Infinity }));
      const refused = rejection(endless);
      await settle();
      expect(await b.store.waiting('k')).toBe(2);
      expect(forClientOf(request.signal, () => b.service.current())).toBeUndefined();
      request.abort(new ClientGoneError());
      for (const error of [await waiting, await refused]) expect(error).toBeInstanceOf(LockAbortedError);
    });
    await holder.release();
  });

  it('leaves the line also when it goes between the call and the answer of the store', async () => {
    const holder = await b.service.acquire('k');
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

  it('waits on inside a hold: in the line of its own flow, in that of another key, and in the run of a lock', async () => {
    const holder = await b.service.acquire('other');
    const request = new AbortController();
    const done = forClientOf(request.signal, async () => {
      const owned = await b.service.acquire('owned');
      const inRun = owned.run(() => b.service.acquire('other'));
      await b.service.withLock('k', async () => {
        const first = await b.service.acquire('k');
        const waits = [b.service.acquire('k'), b.service.acquire('other')];
        await settle();
        request.abort(new ClientGoneError());
        await first.release();
        await (await waits[0])?.release();
        await holder.release();
        await (await inRun).release();
        await (await waits[1])?.release();
      });
      await owned.release();
      return 'finished';
    });
    expect(await done).toBe('finished');
  });

  it('stays in line where the call says requestScope: false', async () => {
    const holder = await b.service.acquire('k');
    const request = new AbortController();
    const waiting = forClientOf(request.signal, () => b.service.acquire('k', { requestScope: false }));
    await settle();
    request.abort(new ClientGoneError());
    expect(await outcome(waiting)).toBe('pending');
    await holder.release();
    await (await waiting).release();
  });

  it('is followed only while it waits', async () => {
    let asked = 0;
    let left = 0;
    const client = { awaitsAnswer: true, follow: () => (asked += 1), unfollow: () => (left += 1) };
    await runForClient(client, async () => {
      await b.service.withLock(['a', 'b'], () => b.service.withLock('a', () => undefined));
      const lock = await b.service.acquire('c');
      expect(await b.service.tryAcquire('c')).toBeUndefined();
      expect(asked).toBe(0);
      const waiting = b.service.acquire('c');
      await settle();
      await lock.release();
      await (await waiting).release();
      expect([asked, left]).toEqual([1, 1]);
    });
  });

  it('does not disturb a section that has begun, nor nesting that needs no wait', async () => {
    const request = new AbortController();
    const result = forClientOf(request.signal, () =>
      b.service.withLock('k', async (lock) => {
        request.abort();
        expect(lock.signal.aborted).toBe(false);
        return await b.service.withLock('k', () => 'finished');
      }),
    );
    expect(await result).toBe('finished');
  });

  it('may give its own signal besides', async () => {
    const holder = await b.service.acquire('k');
    const own = new AbortController();
    const request = new AbortController();
    const ask = (): Promise<Error> => rejection(b.service.acquire('k', { signal: own.signal }));
    const waiting = forClientOf(request.signal, ask);
    expect(await outcome(waiting)).toBe('pending');
    own.abort('own');
    expect((await waiting).cause).toBe('own');
    await holder.release();
  });
});
