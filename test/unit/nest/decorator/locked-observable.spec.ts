import { Injectable } from '@nestjs/common';
import { type TestingModule } from '@nestjs/testing';
import {
  FairLocked,
  FairLockService,
  LockLostError,
  LockShuttingDownError,
  LockTimeoutError,
} from 'nestjs-fair-lock';
import {
  finalize,
  firstValueFrom,
  from,
  lastValueFrom,
  Observable,
  of,
  Subject,
  type Subscription,
  take,
  toArray,
} from 'rxjs';
import { lockObservable } from '../../../../lib/nest/decorator/locked-observable.js';
import { block, deferred, within, SOON } from '../../../support/waiting.js';
import { free, Locked, nestWith, waiting } from '../nest.js';

@Injectable()
class Feeds {
  source = new Subject<string>();
  readonly log: string[] = [];
  constructor(readonly locks: FairLockService) {}

  @FairLocked('feed:<0>', { returns: 'observable' })
  feed(_id: string): Observable<string> {
    this.log.push('subscribed');
    const hold = this.locks.current();
    return this.source.pipe(finalize(() => this.log.push(`torn down while ${hold?.state}`)));
  }

  @FairLocked('feed:<0>', { returns: 'observable' })
  nested(id: string): Observable<string> {
    return from(this.report(id));
  }

  @FairLocked('feed:<0>')
  async report(_id: string): Promise<string> {
    return `held ${this.locks.current()?.holdCount} times`;
  }

  @FairLocked('feed:<0>', { returns: 'observable' })
  endless(_id: string): Observable<number> {
    return new Observable((subscriber) => {
      for (let n = 0; !subscriber.closed; n++) subscriber.next(n);
    });
  }

  @FairLocked('feed:<0>', { returns: 'observable' })
  throws(_id: string): Observable<never> {
    throw new TypeError('before there is a stream');
  }

  @Locked('feed:<0>', { returns: 'observable' })
  noStream(id: string): unknown {
    return id === 'failing' ? Promise.reject(new Error('no stream')) : Promise.resolve(1);
  }

  @FairLocked('feed:<0>', { returns: 'observable', waitTime: 0, onTimeout: 'skip' })
  skipped(_id: string): Observable<string> {
    return this.source;
  }

  @FairLocked('feed:<0>', {
    returns: 'observable',
    waitTime: 0,
    onTimeout: (id: string) => of(`instead of ${id}`),
  })
  replaced(_id: string): Observable<string> {
    return this.source;
  }

  @Locked('feed:<0>', { returns: 'observable', waitTime: 0, onTimeout: () => 'nothing' })
  misplaced(_id: string): Observable<string> {
    return this.source;
  }

  @FairLocked('feed:<0>', { returns: 'observable', waitTime: 0 })
  impatient(_id: string): Observable<string> {
    return this.source;
  }

  @FairLocked('feed:<0>', { returns: 'observable', onLost: 'reject' })
  careful(_id: string): Observable<string> {
    return this.source.pipe(finalize(() => this.log.push('torn down')));
  }

  @FairLocked('feed:<0>', { returns: 'observable', leaseTime: 10 })
  brief(_id: string): Observable<string> {
    this.log.push('began');
    return of('too late');
  }
}

describe('a locked method that returns an Observable', () => {
  let module: TestingModule;
  let locks: FairLockService;
  let feeds: Feeds;
  let subscription: Subscription;
  /** Subscribes; `received` is what came, `began` resolves when the method has been called. */
  const listen = (stream: Observable<unknown>) => {
    const received: unknown[] = [];
    const subscription = stream.subscribe({
      next: (value) => received.push(value),
      error: (error: unknown) => received.push(error),
      complete: () => received.push('complete'),
    });
    return { received, subscription };
  };
  const observed = () => within(deferredObserver(), SOON, 'a subscriber of the source');
  const deferredObserver = async () => {
    while (!feeds.source.observed) await new Promise((resolve) => setImmediate(resolve));
  };

  beforeEach(async () => {
    ({ module, locks } = await nestWith([Feeds]));
    feeds = module.get(Feeds);
  });
  afterEach(() => module.close());

  test('asks for the lock when it is subscribed, not before', async () => {
    const stream = feeds.feed('1');
    expect(stream).toBeInstanceOf(Observable);
    expect(await locks.isLocked('feed:1')).toBe(false);
    const { subscription } = listen(stream);
    await observed();
    expect(await locks.isLocked('feed:1')).toBe(true);
    subscription.unsubscribe();
  });

  test('holds it until it completes', async () => {
    const { received } = listen(feeds.feed('1'));
    await observed();
    feeds.source.next('a');
    expect(await locks.isLocked('feed:1')).toBe(true);
    feeds.source.complete();
    await free(locks, 'feed:1');
    expect(received).toEqual(['a', 'complete']);
  });

  test('holds it until it fails, and passes on the error itself', async () => {
    const { received } = listen(feeds.feed('1'));
    await observed();
    const error = new TypeError('its own');
    feeds.source.error(error);
    await free(locks, 'feed:1');
    expect(received).toEqual([error]);
    expect(received[0]).toBe(error);
  });

  test('holds it until it is unsubscribed', async () => {
    const { received, subscription } = listen(feeds.feed('1'));
    await observed();
    subscription.unsubscribe();
    await free(locks, 'feed:1');
    expect(feeds.source.observed).toBe(false);
    expect(received).toEqual([]);
  });

  test.each([
    ['completes', () => feeds.source.complete()],
    ['fails', () => feeds.source.error(new Error('its own'))],
    ['is unsubscribed', () => subscription.unsubscribe()],
  ])('tears its source down while it still holds, when it %s', async (_, end) => {
    subscription = listen(feeds.feed('1')).subscription;
    await observed();
    end();
    expect(feeds.log).toEqual(['subscribed', 'torn down while held']);
    await free(locks, 'feed:1');
  });

  test('serves subscriptions in order, each with its own lock', async () => {
    const stream = feeds.feed('1');
    const first = listen(stream);
    await observed();
    const second = listen(stream);
    await waiting(locks, 'feed:1', 1);
    expect(feeds.log).toEqual(['subscribed']);
    first.subscription.unsubscribe();
    await observed();
    feeds.source.next('b');
    expect([first.received, second.received]).toEqual([[], ['b']]);
    second.subscription.unsubscribe();
  });

  test('leaves the line when it is unsubscribed in it', async () => {
    const lock = await locks.acquire('feed:1');
    const { subscription, received } = listen(feeds.feed('1'));
    await waiting(locks, 'feed:1', 1);
    subscription.unsubscribe();
    await waiting(locks, 'feed:1', 0);
    await lock.release();
    await free(locks, 'feed:1');
    expect([received, feeds.log]).toEqual([[], []]);
  });

  test('releases a lock that was granted in the moment of unsubscribing', async () => {
    const lock = await locks.acquire('feed:1');
    const { subscription } = listen(feeds.feed('1'));
    await waiting(locks, 'feed:1', 1);
    // The grant is made here; who asked learns of it a moment later.
    void lock.release();
    subscription.unsubscribe();
    await free(locks, 'feed:1');
    expect(feeds.log).toEqual([]);
  });

  test('runs inside the hold: a method locked by the same key does not wait', async () => {
    expect(await within(firstValueFrom(feeds.nested('1')), SOON, 'a nested call')).toBe('held 2 times');
  });

  test('has released the lock when its end is received', async () => {
    const { promise, resolve } = deferred<unknown>();
    feeds.nested('1').subscribe({ complete: () => resolve(locks.current()) });
    expect(await promise).toBeUndefined();
    await free(locks, 'feed:1');
  });

  test('may be endless and synchronous', async () => {
    const numbers = feeds.endless('1').pipe(take(3), toArray());
    expect(await within(lastValueFrom(numbers), SOON, 'three numbers')).toEqual([0, 1, 2]);
    await free(locks, 'feed:1');
  });

  test('releases the lock when the method throws before there is a stream', async () => {
    await expect(lastValueFrom(feeds.throws('1'))).rejects.toThrow('before there is a stream');
    await free(locks, 'feed:1');
  });

  test('refuses what is not an Observable', async () => {
    await expect(lastValueFrom(feeds.noStream('1') as Observable<unknown>)).rejects.toThrow(
      '@FairLocked on Feeds.noStream: the method returned a promise, although the method is locked as an Observable (by `returns`, or by its type): return an Observable, or correct `returns` or the type.',
    );
    await free(locks, 'feed:1');
  });

  test('refuses a promise also where that rejects, and the process lives on', async () => {
    await expect(lastValueFrom(feeds.noStream('failing') as Observable<unknown>)).rejects.toThrow(
      'the method returned a promise, although the method is locked as an Observable',
    );
    // Jest fails the test for a rejection without a handler.
    await new Promise(setImmediate);
  });

  test('when the lock is busy fails, is skipped, or is replaced, as its options say', async () => {
    const lock = await locks.acquire('feed:1');
    await expect(lastValueFrom(feeds.impatient('1'))).rejects.toThrow(LockTimeoutError);
    expect(await lastValueFrom(feeds.skipped('1').pipe(toArray()))).toEqual([]);
    expect(await lastValueFrom(feeds.replaced('1'))).toBe('instead of 1');
    await expect(lastValueFrom(feeds.misplaced('1'))).rejects.toThrow(
      '@FairLocked on Feeds.misplaced: onTimeout returned a string, although the method is locked as an Observable (by `returns`, or by its ' +
        "type): return an Observable from it, or write onTimeout: 'skip'.",
    );
    await lock.release();
  });

  test("fails when the lock is lost with onLost: 'reject', and tears its source down", async () => {
    const { received } = listen(feeds.careful('1'));
    await observed();
    await locks.forceRelease('feed:1');
    expect(received).toEqual([expect.any(LockLostError)]);
    expect(feeds.log).toEqual(['torn down']);
  });

  test('goes on when the lock is lost otherwise', async () => {
    const { received, subscription } = listen(feeds.feed('1'));
    await observed();
    await locks.forceRelease('feed:1');
    feeds.source.next('still here');
    expect(received).toEqual(['still here']);
    subscription.unsubscribe();
  });

  test('fails with one sentence where its class was not made by Nest', async () => {
    await expect(lastValueFrom(new Feeds(locks).feed('1'))).rejects.toThrow(
      /^Feeds\.feed is locked by @FairLocked, but was called on an instance that Nest did not create/,
    );
  });

  test('ends when the drain time of a shutdown has elapsed', async () => {
    const short = await nestWith([Feeds], { drainTimeout: 50 });
    const other = short.module.get(Feeds);
    const ended = deferred<unknown>();
    other.feed('1').subscribe({ error: ended.resolve });
    while (!other.source.observed) await new Promise((resolve) => setImmediate(resolve));
    const closed = short.module.close();
    expect(await within(ended.promise, SOON, 'the end of the stream')).toMatchObject({
      code: 'SHUTTING_DOWN',
    });
    await closed;
  });

  test('does not begin if its lock was lost before it could begin', async () => {
    let released = 0;
    const lock = {
      run: <T>(code: () => T) => code(),
      signal: AbortSignal.abort(new LockShuttingDownError('feed:1')),
      assertHeld: () => undefined,
      release: async () => void released++,
    };
    const open = () => Promise.resolve({ lock, onLost: 'signal' as const });
    const stream = lockObservable(open, () => feeds.source);
    await expect(lastValueFrom(stream)).rejects.toMatchObject({ code: 'SHUTTING_DOWN' });
    expect([released, feeds.source.observed]).toEqual([1, false]);
  });

  test('does not begin when its lease ran out while the process stood still', async () => {
    const lock = await locks.acquire('feed:1');
    const ended = expect(lastValueFrom(feeds.brief('1'))).rejects.toThrow(LockLostError);
    await waiting(locks, 'feed:1', 1);
    void lock.release();
    block(20);
    await ended;
    expect(feeds.log).toEqual([]);
    expect(await locks.isLocked('feed:1')).toBe(false);
  });
});
