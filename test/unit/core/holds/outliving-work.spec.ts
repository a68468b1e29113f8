import { runInNewContext } from 'node:vm';
import { setFlagsFromString } from 'node:v8';
import type { FairLock } from '../../../../lib/core/holds/fair-lock.js';
import type { Hold } from '../../../../lib/core/holds/hold.js';
import { currentScope, type LockHandle } from '../../../../lib/core/holds/lock-handle.js';
import { deferred, pause } from '../../../support/waiting.js';
import { benchForEach, outcome, recordWaitTimes, settle } from '../support.js';

const b = benchForEach();

describe('work that outlives its hold', () => {
  it('keeps the lock until it ends, if it is a nested section that has begun', async () => {
    const child = deferred();
    let forgotten: Promise<void> | undefined;
    await b.service.withLock('k', () => {
      forgotten = b.service.withLock('k', () => child.promise);
    });
    const stranger = b.service.acquire('k');
    expect(await outcome(stranger)).toBe('pending');
    expect(b.store.log).not.toContain('release k');
    child.resolve();
    await forgotten;
    await (await stranger).release();
  });

  it('gives the lock back at its end, however many sections began each other and ended before', async () => {
    const last = deferred();
    const sections: Promise<void>[] = [];
    // Deeper than the stack of a program whose functions call each other.
    const begin = (depth: number, begun: () => void): void => {
      const section = async (): Promise<void> => {
        begun();
        if (depth === 20_000) return last.promise;
        await new Promise<void>((next) => begin(depth + 1, next));
      };
      sections.push(b.service.withLock('k', section));
    };
    await new Promise<void>((begun) => begin(1, begun));
    while (sections.length < 20_000) await settle();
    expect(await b.store.held('k')).toBe(true);
    last.resolve();
    for (const section of sections) await section;
    expect(await b.store.held('k')).toBe(false);
  });

  it('asks anew as a stranger, if it is a nested request that has not begun', async () => {
    const firstChild = deferred();
    const events: string[] = [];
    const children: Promise<void>[] = [];
    const between = deferred();
    const outer = b.service.withLock('k', async () => {
      children.push(b.service.withLock('k', () => firstChild.promise));
      for (const child of ['second child', 'third child']) {
        children.push(b.service.withLock('k', () => void events.push(child)));
      }
      await between.promise;
    });
    await settle();
    const stranger = b.service.withLock('k', () => void events.push('stranger'));
    between.resolve();
    await outer;
    expect(await outcome(stranger)).toBe('pending');
    firstChild.resolve();
    await Promise.all([...children, stranger]);
    // The stranger stood in line first; the others joined it when the section ended, in the order in which they had asked.
    expect(events).toEqual(['stranger', 'second child', 'third child']);
    expect(b.store.acquires).toBe(4);
  });

  it('asks anew of the nearest hold that is still open', async () => {
    const child = deferred();
    const all: Promise<unknown>[] = [];
    await b.service.withLock('k', async () => {
      await b.service.withLock('k', () => {
        all.push(b.service.withLock('k', () => child.promise));
        all.push(b.service.withLock('k', () => 'served'));
      });
      await settle();
      child.resolve();
      expect(await all[1]).toBe('served');
    });
    expect(b.store.acquires).toBe(1);
  });

  it('asks anew with what is left of its wait time', async () => {
    const asked = recordWaitTimes(b.store);
    const child = deferred();
    const all: Promise<unknown>[] = [];
    await b.service.withLock('k', async () => {
      all.push(b.service.withLock('k', () => child.promise));
      all.push(b.service.withLock('k', () => undefined, { waitTime: 5_000 }));
      await pause(100);
    });
    await settle();
    // The timer may fire 1 ms early.
    expect(asked[1]).toBeLessThanOrEqual(5_000 - 99);
    child.resolve();
    await Promise.all(all);
  });

  it('is a stranger, if it is an un-awaited promise, and has no current hold', async () => {
    const ended = deferred();
    let detached: Promise<FairLock | undefined> | undefined;
    await b.service.withLock('k', () => {
      detached = ended.promise.then(async () => {
        expect(b.service.current()).toBeUndefined();
        return await b.service.acquire('k');
      });
    });
    ended.resolve();
    const lock = await detached;
    expect(b.store.acquires).toBe(2);
    await lock?.release();
  });

  it('keeps only the outermost hold of earlier rounds when each is nested in the last', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const holds: WeakRef<Hold>[] = [];
    const left = deferred<number>();
    const round = async (n: number, begun?: () => void): Promise<void> => {
      await b.service.withLock('k', async (lock) => {
        begun?.();
        holds.push(new WeakRef((lock as LockHandle).holds[0]!));
        await settle();
        if (n === 50) {
          collect();
          return left.resolve(holds.filter((hold) => hold.deref()).length);
        }
        const next = deferred();
        void round(n + 1, next.resolve);
        await next.promise;
      });
    };
    await round(1);
    // The outermost, the last one, and perhaps the one before it.
    expect(await left.promise).toBeLessThanOrEqual(3);
    expect(b.store.acquires).toBe(1);
  });

  it('leaves no chain behind either when each round begins before the last has ended', async () => {
    const rounds: Promise<void>[] = [];
    const lengths: number[] = [];
    const round = async (n: number, begun?: () => void): Promise<void> => {
      await b.service.withLock(`k${n}`, async () => {
        begun?.();
        await settle();
        let length = 0;
        for (let scope = currentScope(); scope; scope = scope.outer) length += 1;
        lengths.push(length);
        if (n === 8) return;
        const next = deferred();
        rounds.push(round(n + 1, next.resolve));
        await next.promise;
      });
    };
    await round(1);
    for (let n = 0; n < rounds.length; n += 1) await rounds[n];
    // Its own scope, and the one that it began in.
    expect(lengths).toEqual([1, 2, 2, 2, 2, 2, 2, 2]);
  });
});
