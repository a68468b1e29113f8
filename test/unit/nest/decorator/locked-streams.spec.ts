/** What a locked method that returns an Observable and one that returns an async generator have in common. */
import { Injectable } from '@nestjs/common';
import { type TestingModule } from '@nestjs/testing';
import { FairLockService, LockLostError, LockTimeoutError } from 'nestjs-fair-lock';
import { from, type Observable } from 'rxjs';
import { block, deferred, eventually, within, SOON } from '../../../support/waiting.js';
import { free, Locked, nestWith, waiting } from '../nest.js';

type Stream = Observable<unknown> | AsyncGenerator<unknown>;

/** Reads a stream: `received` is what came, `ended` settles as it does. */
function read(stream: Stream): { received: unknown[]; ended: Promise<void>; leave(): unknown } {
  const received: unknown[] = [];
  const { promise: ended, resolve, reject } = deferred();
  ended.catch(() => undefined);
  if ('subscribe' in stream) {
    const next = (value: unknown) => received.push(value);
    const subscription = stream.subscribe({ next, error: reject, complete: resolve });
    return { received, ended, leave: () => subscription.unsubscribe() };
  }
  void (async () => {
    for await (const value of stream) received.push(value);
  })().then(resolve, reject);
  return { received, ended, leave: () => stream.return('left') };
}

async function all(stream: Stream): Promise<unknown[]> {
  const { received, ended } = read(stream);
  await within(ended, SOON, 'the end of the stream');
  return received;
}

/** A class whose locked methods return streams of one kind, as `make` makes them. */
function streams(returns: 'observable' | 'iterable', make: (source: AsyncGenerator<unknown>) => Stream) {
  const locked = (options: object = {}) => Locked('feed:<0>', { returns, ...options });
  const busy = { waitTime: 0 };
  async function* instead(id: string) {
    yield `instead of ${id}`;
  }

  @Injectable()
  class Feeds {
    readonly log: string[] = [];
    readonly more = deferred();
    constructor(readonly locks: FairLockService) {}

    private async *source() {
      try {
        this.log.push('began');
        yield await this.report('1');
        await this.more.promise;
        yield 'more';
      } finally {
        this.log.push('cleaned up');
      }
    }
    @Locked('feed:<0>')
    async report(_id: string): Promise<unknown> {
      return this.locks.current()?.holdCount;
    }
    @locked() feed(_id: string) {
      return make(this.source());
    }
    @locked({ onLost: 'reject' }) careful(_id: string) {
      return make(this.source());
    }
    @locked({ leaseTime: 10 }) brief(_id: string) {
      return make(this.source());
    }
    @locked() throws(_id: string): Stream {
      throw new TypeError('before there is a stream');
    }
    @locked() none(_id: string) {
      return [1] as unknown as Stream;
    }
    @locked(busy) impatient(_id: string) {
      return make(this.source());
    }
    @locked({ ...busy, onTimeout: 'skip' }) skipped(_id: string) {
      return make(this.source());
    }
    @locked({ ...busy, onTimeout: (id: string) => make(instead(id)) }) replaced(_id: string) {
      return make(this.source());
    }
    @locked({ ...busy, onTimeout: () => 'nothing' }) misplaced(_id: string) {
      return make(this.source());
    }
  }
  return Feeds;
}

describe.each([
  ['an Observable', streams('observable', (source) => from(source))],
  ['an async generator', streams('iterable', (source) => source)],
])('a locked method that returns %s', (kind, Feeds) => {
  let module: TestingModule;
  let locks: FairLockService;
  let feeds: InstanceType<typeof Feeds>;
  beforeEach(async () => {
    ({ module, locks } = await nestWith([Feeds]));
    feeds = module.get(Feeds);
  });
  afterEach(() => module.close());
  const begun = ({ received }: { received: unknown[] }) =>
    eventually(() => received.length > 0, SOON, 'the first value');

  test('asks for the lock when it is read, not before, and has it, with all its nested calls, until its end', async () => {
    const stream = feeds.feed('1');
    expect(await locks.isLocked('feed:1')).toBe(false);
    const reader = read(stream);
    await begun(reader);
    expect(await locks.isLocked('feed:1')).toBe(true);
    feeds.more.resolve();
    await within(reader.ended, SOON, 'the end');
    expect(reader.received).toEqual([2, 'more']);
    await free(locks, 'feed:1');
  });

  test('waits for the one before it', async () => {
    const first = read(feeds.feed('1'));
    await begun(first);
    const second = read(feeds.feed('1'));
    await waiting(locks, 'feed:1', 1);
    expect(feeds.log).toEqual(['began']);
    feeds.more.resolve();
    await Promise.all([first.ended, second.ended]);
    expect(second.received).toEqual([2, 'more']);
  });

  test.each(['in line', 'in the very moment of its grant'])(
    'that is left %s never begins, and leaves nothing behind',
    async (when) => {
      const lock = await locks.acquire('feed:1');
      const { received, leave } = read(feeds.feed('1'));
      await waiting(locks, 'feed:1', 1);
      // The grant is made here; who asked learns of it a moment later.
      if (when !== 'in line') void lock.release();
      void leave();
      await waiting(locks, 'feed:1', 0);
      await lock.release();
      await free(locks, 'feed:1');
      expect([received, feeds.log]).toEqual([[], []]);
    },
  );

  test('releases the lock when the method throws, or returns something else, and says so', async () => {
    await expect(all(feeds.throws('1'))).rejects.toThrow('before there is a stream');
    await expect(all(feeds.none('1'))).rejects.toThrow(
      `@FairLocked on Feeds.none: the method returned an array, although the method is locked as ${kind} (by \`returns\`, or by its type): ` +
        `return ${kind}, or correct \`returns\` or the type.`,
    );
    await free(locks, 'feed:1');
  });

  test('when the lock is busy fails, is skipped, or is replaced, as its options say', async () => {
    const lock = await locks.acquire('feed:1');
    await expect(all(feeds.impatient('1'))).rejects.toThrow(LockTimeoutError);
    expect(await all(feeds.skipped('1'))).toEqual([]);
    expect(await all(feeds.replaced('1'))).toEqual(['instead of 1']);
    await expect(all(feeds.misplaced('1'))).rejects.toThrow(
      `@FairLocked on Feeds.misplaced: onTimeout returned a string, although the method is locked as ${kind} (by \`returns\`, or by its ` +
        `type): return ${kind} from it, or write onTimeout: 'skip'.`,
    );
    await lock.release();
  });

  test("fails at once when the lock is lost with onLost: 'reject', and lets its source clean up", async () => {
    const reader = read(feeds.careful('1'));
    await begun(reader);
    await locks.forceRelease('feed:1');
    await expect(within(reader.ended, SOON, 'the end')).rejects.toThrow(LockLostError);
    feeds.more.resolve();
    await eventually(() => feeds.log.includes('cleaned up'), SOON, 'the source to clean up');
  });

  test('goes on when the lock is lost otherwise', async () => {
    const reader = read(feeds.feed('1'));
    await begun(reader);
    await locks.forceRelease('feed:1');
    feeds.more.resolve();
    await within(reader.ended, SOON, 'the end');
    expect(reader.received).toEqual([2, 'more']);
  });

  test('does not begin when its lease ran out while the process stood still', async () => {
    const lock = await locks.acquire('feed:1');
    const ended = expect(all(feeds.brief('1'))).rejects.toThrow(LockLostError);
    await waiting(locks, 'feed:1', 1);
    void lock.release();
    block(20);
    await ended;
    expect(feeds.log).toEqual([]);
    expect(await locks.isLocked('feed:1')).toBe(false);
  });

  test('fails with one sentence where its class was not made by Nest', async () => {
    await expect(all(new Feeds(locks).feed('1'))).rejects.toThrow(
      /^Feeds\.feed is locked by @FairLocked, but was called on an instance that Nest did not create/,
    );
  });

  test('ends when the drain time of a shutdown has elapsed', async () => {
    const short = await nestWith([Feeds], { drainTimeout: 50 });
    const other = short.module.get(Feeds);
    const reader = read(other.feed('1'));
    await begun(reader);
    const closed = short.module.close();
    await expect(within(reader.ended, SOON, 'the end')).rejects.toMatchObject({ code: 'SHUTTING_DOWN' });
    other.more.resolve();
    await closed;
  });
});
