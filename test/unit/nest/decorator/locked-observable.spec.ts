import { Injectable } from '@nestjs/common';
import { type TestingModule } from '@nestjs/testing';
import { FairLocked, FairLockService, LockShuttingDownError } from 'nestjs-fair-lock';
import { finalize, lastValueFrom, Observable, of, Subject, type Subscription, take, toArray } from 'rxjs';
import { lockObservable } from '../../../../lib/nest/decorator/locked-observable.js';
import { deferred, within, SOON } from '../../../support/waiting.js';
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
  once(_id: string): Observable<number> {
    return of(1);
  }

  @FairLocked('feed:<0>', { returns: 'observable' })
  endless(_id: string): Observable<number> {
    return new Observable((subscriber) => {
      for (let n = 0; !subscriber.closed; n++) subscriber.next(n);
    });
  }

  @Locked('feed:<0>', { returns: 'observable' })
  noStream(_id: string): unknown {
    return Promise.reject(new Error('no stream'));
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

  const itsOwn = new TypeError('its own');
  test.each([
    ['completes', () => feeds.source.complete(), ['complete']],
    ['fails', () => feeds.source.error(itsOwn), [itsOwn]],
    ['is unsubscribed', () => subscription.unsubscribe(), []],
  ])('holds the lock until it %s, and tears its source down while it still holds', async (_, end, last) => {
    const listening = listen(feeds.feed('1'));
    ({ subscription } = listening);
    await observed();
    feeds.source.next('a');
    expect(await locks.isLocked('feed:1')).toBe(true);
    end();
    expect(feeds.log).toEqual(['subscribed', 'torn down while held']);
    await free(locks, 'feed:1');
    expect(listening.received).toEqual(['a', ...last]);
    expect(listening.received.at(-1)).toBe(last[0] ?? 'a'); // the error itself
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

  test('has released the lock when its end is received', async () => {
    const { promise, resolve } = deferred<unknown>();
    feeds.once('1').subscribe({ complete: () => resolve(locks.current()) });
    expect(await promise).toBeUndefined();
    await free(locks, 'feed:1');
  });

  test('may be endless and synchronous', async () => {
    const numbers = feeds.endless('1').pipe(take(3), toArray());
    expect(await within(lastValueFrom(numbers), SOON, 'three numbers')).toEqual([0, 1, 2]);
    await free(locks, 'feed:1');
  });

  test('refuses a promise also where that rejects, and the process lives on', async () => {
    await expect(lastValueFrom(feeds.noStream('1') as Observable<unknown>)).rejects.toThrow(
      'the method returned a promise, although the method is locked as an Observable',
    );
    // Jest fails the test for a rejection without a handler.
    await new Promise(setImmediate);
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
});
