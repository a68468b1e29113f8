import { EventEmitter, on } from 'node:events';
import { Readable } from 'node:stream';
import { jest } from '@jest/globals';
import { Injectable, Logger } from '@nestjs/common';
import { type TestingModule } from '@nestjs/testing';
import { FairLocked, FairLockService, LockLostError } from 'nestjs-fair-lock';
import { deferred, eventually, within, SOON } from '../../../support/waiting.js';
import { lockIteration } from '../../../../lib/nest/decorator/locked-iteration.js';
import { bench, settle, type Bench } from '../../core/support.js';
import { free, nestWith } from '../nest.js';

@Injectable()
class Pages {
  readonly log: unknown[] = [];
  next = deferred<string>();
  readonly changes = new EventEmitter();
  constructor(readonly locks: FairLockService) {}

  @FairLocked('pages:<0>', { returns: 'iterable' })
  async *pages(_id: string): AsyncGenerator<string, string, string | undefined> {
    const hold = this.locks.current();
    try {
      this.log.push('began');
      this.log.push(yield 'one');
      try {
        yield 'two';
      } catch (error) {
        this.log.push(error);
        yield 'mended';
      }
      return 'end';
    } finally {
      this.log.push(`cleaned up while ${hold?.state}`);
    }
  }

  @FairLocked('pages:<0>', { returns: 'iterable', onLost: 'reject' })
  async *careful(_id: string): AsyncGenerator<string> {
    try {
      yield 'one';
      yield await this.next.promise;
    } finally {
      this.log.push('cleaned up');
    }
  }

  @FairLocked('pages:<0>', { returns: 'iterable' })
  bare(_id: string): AsyncIterable<number> {
    let count = 0;
    return { [Symbol.asyncIterator]: () => ({ next: async () => ({ value: ++count, done: count > 2 }) }) };
  }

  @FairLocked('pages:<0>', { returns: 'iterable', onLost: 'reject' })
  handmade(_id: string): AsyncIterable<string> {
    const leave = () => {
      this.log.push('left');
      return { value: undefined, done: true };
    };
    const next = async () => {
      this.log.push('began');
      return { value: await this.next.promise };
    };
    return { [Symbol.asyncIterator]: () => ({ next, return: leave }) as unknown as AsyncIterator<string> };
  }

  @FairLocked('pages:<0>', { returns: 'iterable' })
  changesOf(_id: string): AsyncIterable<unknown> {
    return on(this.changes, 'change');
  }
}

async function all(iterable: AsyncIterable<unknown>): Promise<unknown[]> {
  const values: unknown[] = [];
  for await (const value of iterable) values.push(value);
  return values;
}

describe('a locked async generator', () => {
  let module: TestingModule;
  let locks: FairLockService;
  let pages: Pages;

  beforeEach(async () => {
    ({ module, locks } = await nestWith([Pages]));
    pages = module.get(Pages);
  });
  afterEach(() => module.close());

  test('holds it between the steps and gives it back at the end', async () => {
    const steps = pages.pages('1');
    await steps.next();
    expect(await steps.next('sent')).toEqual({ value: 'two', done: false });
    expect(await locks.isLocked('pages:1')).toBe(true);
    expect(await steps.next()).toEqual({ value: 'end', done: true });
    expect(await locks.isLocked('pages:1')).toBe(false);
    expect(pages.log).toEqual(['began', 'sent', 'cleaned up while held']);
  });

  test('left by break, cleans up under the lock and gives it back', async () => {
    for await (const page of pages.pages('1')) {
      expect(page).toBe('one');
      break;
    }
    expect(pages.log).toEqual(['began', 'cleaned up while held']);
    expect(await locks.isLocked('pages:1')).toBe(false);
  });

  test('left while it waits for an event, as a GraphQL subscription is, ends there and gives the lock back', async () => {
    const steps = pages.changesOf('1')[Symbol.asyncIterator]();
    const events = [steps.next(), steps.next()];
    await eventually(() => pages.changes.listenerCount('change') > 0, SOON, 'the source to listen');
    pages.changes.emit('change', 'first');
    expect(await events[0]).toEqual({ value: ['first'], done: false });
    const left = steps.return?.('left') as Promise<unknown>;
    await within(left, SOON, 'return()');
    expect(await events[1]).toEqual({ value: undefined, done: true });
    expect(await locks.isLocked('pages:1')).toBe(false);
    expect(pages.changes.listenerCount('change')).toBe(0);
  });

  test('left with an error while it waits for an event, as a stream made of it is, gives the lock back', async () => {
    const stream = Readable.from(pages.changesOf('1'));
    stream.on('error', () => undefined).resume();
    await eventually(() => pages.changes.listenerCount('change') > 0, SOON, 'the source to listen');
    stream.destroy(new Error('The client went away.'));
    await free(locks, 'pages:1');
    expect(pages.changes.listenerCount('change')).toBe(0);
  });

  test('returns what return() was given', async () => {
    const steps = pages.pages('1');
    await steps.next();
    expect(await steps.return('left')).toEqual({ value: 'left', done: true });
    expect(await steps.next()).toEqual({ value: undefined, done: true });
  });

  test('left before the first step, never asks for the lock', async () => {
    const lock = await locks.acquire('pages:1');
    const steps = pages.pages('1');
    expect(await within(steps.return('left'), SOON, 'return()')).toEqual({ value: 'left', done: true });
    expect(await steps.next()).toEqual({ value: undefined, done: true });
    expect((await locks.inspect('pages:1')).queueLength).toBe(0);
    expect(pages.log).toEqual([]);
    await lock.release();
  });

  test('passes throw() on to the source', async () => {
    const steps = pages.pages('1');
    await steps.next();
    await steps.next();
    expect(await steps.throw('broken')).toEqual({ value: 'mended', done: false });
    expect(await locks.isLocked('pages:1')).toBe(true);
    await expect(steps.throw('again')).rejects.toBe('again');
    expect(await locks.isLocked('pages:1')).toBe(false);
  });

  test('tells a reader who asks for the lock again in the loop that it waited for itself', async () => {
    const read = async (): Promise<void> => {
      for await (const _ of pages.pages('7')) {
        await pages.locks.withLock('pages:7', () => undefined, { waitTime: 20 });
      }
    };
    await expect(read()).rejects.toMatchObject({
      details: expect.stringContaining(
        'while reading a locked iterator or Observable. Use withLock(), or wrap the code in lock.run()',
      ) as string,
    });
  });

  test('names its method where a reader leaves it without return(), and so keeps the lock', async () => {
    const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
    const slow = await nestWith([Pages], { slowHold: 20 });
    const left = slow.module.get(Pages).pages('1');
    await left.next();
    await eventually(() => warn.mock.calls.length > 0, SOON, 'the warning');
    expect(warn.mock.calls[0]?.[0]).toMatch(
      /^The lock "pages:1" has been held for .*\/Pages\.pages\. .* an async iterator that is abandoned before its end, keep the lock/,
    );
    warn.mockRestore();
    await left.return('');
    await slow.module.close();
  });

  test('takes an iterator that can do nothing but next()', async () => {
    expect(await all(pages.bare('1'))).toEqual([1, 2]);
    for await (const _ of pages.bare('1')) break;
    expect(await locks.isLocked('pages:1')).toBe(false);
  });

  test("fails at the next step when the lock was lost between steps with onLost: 'reject'", async () => {
    const steps = pages.careful('1');
    await steps.next();
    await locks.forceRelease('pages:1');
    await expect(steps.next()).rejects.toThrow(LockLostError);
    expect(pages.log).toEqual(['cleaned up']);
  });

  test('ends with the loss also a source whose return() gives no promise', async () => {
    const failed = expect(all(pages.handmade('1'))).rejects.toThrow(LockLostError);
    await eventually(() => pages.log.includes('began'), SOON, 'the first step');
    await locks.forceRelease('pages:1');
    await failed;
    await eventually(() => pages.log.includes('left'), SOON, 'the source to clean up');
    // What a listener of a signal throws reaches the process in the next turn.
    await new Promise((resolve) => setImmediate(resolve));
    pages.next.resolve('too late'); // else the end of the application would wait for this step
  });

  test('can be disposed of', async () => {
    const steps = pages.pages('1') as AsyncGenerator<string> & AsyncDisposable;
    await steps.next();
    await steps[Symbol.asyncDispose]();
    expect(await locks.isLocked('pages:1')).toBe(false);
  });
});

describe('a locked iteration keeps its lock', () => {
  let b: Bench;
  const drainTimeout = 10;
  beforeEach(() => (b = bench({ drainTimeout })));
  afterEach(() => b.engine.close());

  const locked = (source: AsyncIterable<string>): AsyncGenerator<string, unknown, unknown> =>
    lockIteration(
      async () => ({ lock: await b.service.acquire('k'), onLost: 'signal' }),
      () => source,
    );

  /** A step that goes on after the lock has ended, and a clean-up behind it. */
  function stubborn() {
    const [step, cleanUp] = [deferred(), deferred()];
    async function* source(): AsyncGenerator<string> {
      try {
        yield 'one';
        await step.promise;
        yield 'two';
      } finally {
        await cleanUp.promise;
      }
    }
    return { step, cleanUp, steps: locked(source()) };
  }

  test('until the step under way and the clean-up have ended, when the end of a shutdown cut it short', async () => {
    const { step, cleanUp, steps } = stubborn();
    await steps.next();
    const second = expect(steps.next()).rejects.toMatchObject({ code: 'SHUTTING_DOWN' });
    b.engine.beginShutdown();
    await within(second, SOON, 'the end of the iteration');
    expect(await steps.next()).toEqual({ value: undefined, done: true });
    await settle();
    expect(await b.store.held('k')).toBe(true);
    step.resolve();
    await settle();
    expect(await b.store.held('k')).toBe(true);
    cleanUp.resolve();
    await settle();
    expect(await b.store.held('k')).toBe(false);
  });

  test('until the clean-up has ended, when it learns of the end between two steps', async () => {
    const { cleanUp, steps } = stubborn();
    await steps.next();
    b.engine.beginShutdown();
    await b.engine.drain();
    await expect(steps.next()).rejects.toMatchObject({ code: 'SHUTTING_DOWN' });
    await settle();
    expect(await b.store.held('k')).toBe(true);
    cleanUp.resolve();
    await settle();
    expect(await b.store.held('k')).toBe(false);
  });

  test('until a hand-made return() has ended, which its consumer called during a step', async () => {
    const [cleanUp, calls] = [deferred(), { return: 0 }];
    const step = deferred<IteratorResult<string>>();
    const steps = locked({
      [Symbol.asyncIterator]: () => ({
        next: () => step.promise,
        return: async (value) => {
          calls.return += 1;
          step.resolve({ value: 'one', done: false });
          await cleanUp.promise;
          return { value: value as string, done: true };
        },
      }),
    });
    const first = steps.next();
    await settle();
    const left = steps.return('left');
    expect(await first).toEqual({ value: 'one', done: false });
    await settle();
    expect(await b.store.held('k')).toBe(true);
    cleanUp.resolve();
    expect(await left).toEqual({ value: 'left', done: true });
    expect([calls.return, await b.store.held('k')]).toEqual([1, false]);
  });
});
