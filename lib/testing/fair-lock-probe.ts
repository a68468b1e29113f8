import { inspect } from 'node:util';
import { Logger } from '@nestjs/common';
import { LockConfigurationError } from '../core/errors/errors.js';
import { requireKey, type LockKeys } from '../core/options/lock-keys.js';
import { type SharingOptions } from '../core/options/sharing.js';
import { quote } from '../core/errors/text.js';
import { printAs } from '../core/runtime/printing.js';
import { LockedMethod } from '../nest/decorator/locked-method.js';
import { type StoreFactory } from '../setup/store-factory.js';
import { type ArgumentsOf, type Calls, type MethodName, type ResultsOf } from './call-types.js';
import { requireExclusion, requireUnshared } from './exclusion.js';
import { HeldCalls, withError } from './held-calls.js';
import { afterReal, fail, within, type WithinOptions } from './patience.js';
import { type ProbeHold, takeHold } from './probe-hold.js';
import { ProbedStore, type Waiting } from './probed-store.js';

/**
 * Controls the locks of an application under test: holds them, waits for calls that request them, takes them away.
 *
 * A helper fails with an AssertionError if the expected event does not happen within 2 seconds of real time, even under fake timers;
 * `{ within }` changes that time. It fails with a LockConfigurationError if no registration has the probe, as after a `replaceIn` that
 * replaced nothing.
 *
 * @example
 * await using held = await locks.hold('order:42');
 * const paying = orders.pay('42');
 * await locks.waitForLine('order:42', 1);
 * expect(payments.count).toBe(0);
 * await held.release();
 * await paying;
 */
export class FairLockProbe {
  private readonly probed = new ProbedStore();
  private inUse = false;

  /** @internal The factory with which the registration makes its store. */
  readonly createStore: StoreFactory = Object.assign(
    () => {
      this.inUse = true;
      return this.probed;
    },
    // A hook of a test has 5 s by default, so `close` ends before, even under fake timers. Of a logger, tests show only errors.
    {
      engine: {
        timer: afterReal,
        lease: 0,
        onLeft: (message: string) => new Logger('FairLock').error(message),
      },
    },
  );

  /** @throws LockConfigurationError if no registration uses it: the probe would not see any call, and the application would lock in its Redis */
  private get store(): ProbedStore {
    if (this.inUse) return this.probed;
    throw new LockConfigurationError(
      'No registration of FairLockModule uses this probe, so it cannot see the locks of the application. Call ' +
        'FairLockTestingModule.replaceIn before the module is compiled, with the name of the registration if it has one, and use ' +
        'the probe after that.',
    );
  }

  /**
   * The keys that a call of a decorated method with these arguments takes, as its decorator makes them. Nothing is called.
   *
   * @throws LockConfigurationError if the method is not decorated with `@FairLocked`
   * @throws LockKeyError if the arguments do not make a key
   *
   * @example
   * expect(locks.keysOf(orders, 'pay', { id: '42' })).toEqual(['order:42']);
   */
  keysOf<T extends object, Name extends MethodName<T>>(
    instance: T,
    method: Name,
    ...args: ArgumentsOf<T, Name>
  ): readonly string[] {
    const locked = LockedMethod.of(instance, method as string | symbol);
    if (locked) return locked.keys(instance, args);
    const place = `${instance.constructor.name}.${String(method)}`;
    throw new LockConfigurationError(
      `${place} is not decorated with @FairLocked, so calls to it run without a lock. Decorate it, or pass the method that is ` +
        'decorated: an override in a subclass needs its own decorator, and a mock has none.',
    );
  }

  /**
   * Takes the lock as another process would, so every call of the application waits for it. Waits in the queue itself while the lock is
   * busy. The hold does not belong to a flow of the application, so requests never nest in it. With `permits` and `weight`, or
   * `mode: 'read'`, it takes as much of the lock as such a call.
   */
  async hold(keys: LockKeys, options: WithinOptions & SharingOptions = {}): Promise<ProbeHold> {
    return await takeHold(this.store, keys, options);
  }

  /**
   * Resolves when at least `count` requests are waiting for `key`, not counting the holder.
   *
   * @throws AssertionError if they do not come in time
   */
  async waitForLine(key: string, count = 1, options?: WithinOptions): Promise<void> {
    requireKey(key);
    await within(
      this.store.until(() => this.store.line(key).length >= count),
      () => `Expected ${count} in the queue for ${quote(key)}; ${this.store.describeLine(key)}`,
      options,
    );
  }

  /**
   * Takes the lock from its holder, for which it is lost: `lock.signal` aborts, `assertHeld()` throws. The next in the queue is served.
   *
   * @throws AssertionError if the lock is not held
   */
  async lose(key: string): Promise<void> {
    if (!(await this.store.forceRelease(requireKey(key)))) {
      fail(`The lock ${quote(key)} cannot be lost: it is not held.`);
    }
  }

  /**
   * Runs `call`, in which the next request for `key` is rejected with `error`: `new LockTimeoutError(key, 5_000)`,
   * `new LockStoreUnavailableError('unreachable', '…')`, or any other. Resolves or rejects as the call does.
   *
   * @throws AssertionError if the call ends without requesting `key`, or does not request it in time
   *
   * @example
   * const busy = new LockTimeoutError('order:42', 5_000);
   * await expect(locks.failNext('order:42', busy, () => orders.pay('42'))).rejects.toThrow(LockTimeoutError);
   */
  async failNext<T>(
    key: string,
    error: Error,
    call: () => Promise<T> | T,
    options?: WithinOptions,
  ): Promise<T> {
    const refusal = this.store.refuseNext(requireKey(key), error);
    const running = (async () => await call())();
    const ended = running.then(() => '', withError);
    try {
      const how = await within(
        Promise.race([this.store.until(() => !refusal.pending()), ended]),
        () => `The call did not request the lock ${quote(key)}; ${this.store.describeLine(key)}`,
        options,
      );
      if (refusal.pending()) {
        fail(
          `The call ended${how ?? ''} without requesting the lock ${quote(key)}, so there was nothing to fail.`,
        );
      }
    } finally {
      refusal.withdraw();
    }
    return await running;
  }

  /**
   * Shows that the calls exclude each other: while the test holds `key`, every one of them waits, and then all run, each
   * with a grant of `key`. It does not see work outside the lock, such as work that a method does not await.
   *
   * @returns the results of the calls
   * @throws AssertionError if a call ends without waiting, waits for something else, or does not come in time
   *
   * @example
   * await locks.assertSerialized('order:42', [() => orders.pay('42'), () => orders.cancel('42')]);
   */
  async assertSerialized<const All extends Calls>(
    key: string,
    calls: All,
    options?: WithinOptions,
  ): Promise<ResultsOf<All>> {
    if (calls.length < 2) {
      fail(`assertSerialized needs two calls or more; it received ${inspect(calls.length)}.`);
    }
    return await this.lineUp<All>(key, [calls], options, ([line = []]) => requireUnshared(key, line));
  }

  /**
   * Shows that no more than `most` of the calls hold `key` at a time: while the test holds it, every one of them waits; then they run, as many
   * at a time as the lock lets in.
   *
   * @param most less than the number of calls
   * @returns the results of the calls
   * @throws AssertionError if more hold it at the same time; and as `assertSerialized` if a call does not wait for it
   *
   * @example
   * await locks.assertAtMost('api:acme', 2, [call, call, call]);
   */
  async assertAtMost<const All extends Calls>(
    key: string,
    most: number,
    calls: All,
    options?: WithinOptions,
  ): Promise<ResultsOf<All>> {
    if (!Number.isSafeInteger(most) || most < 1 || calls.length <= most) {
      fail(
        `assertAtMost needs a whole number from 1, and more calls than that; it received ${inspect(most)} and ${calls.length} calls.`,
      );
    }
    const results = await this.lineUp<All>(key, [calls], options, () => this.store.countTogether(key));
    const together = this.store.mostTogether(key);
    if (together > most) {
      fail(`Expected at most ${most} calls to hold the lock ${quote(key)} at a time; ${together} held it.`);
    }
    return results;
  }

  /**
   * Shows that each of the writers runs alone: while the test holds `key`, every call waits for it, and none of them could hold it beside a
   * writer. Then all run. Readers can run together.
   *
   * @returns the results of the calls, the writers' first
   * @throws AssertionError if a call could hold the lock together with a writer; and as `assertSerialized` if a call does not wait for it
   *
   * @example
   * await locks.assertExcludes('page:1', [() => pages.save('1')], [() => pages.show('1'), () => pages.print('1')]);
   */
  async assertExcludes<const Writers extends Calls, const Readers extends Calls>(
    key: string,
    writers: Writers,
    readers: Readers,
    options?: WithinOptions,
  ): Promise<ResultsOf<readonly [...Writers, ...Readers]>> {
    if (writers.length === 0 || writers.length + readers.length < 2) {
      fail('assertExcludes needs a writer, and another call that it excludes.');
    }
    return await this.lineUp<readonly [...Writers, ...Readers]>(
      key,
      [writers, readers],
      options,
      ([writing = [], reading = []]) => requireExclusion(key, writing, [...writing, ...reading]),
    );
  }

  private async lineUp<All extends Calls>(
    key: string,
    groups: readonly Calls[],
    options: WithinOptions | undefined,
    whenInLine: (lines: (readonly Waiting[])[]) => void,
  ): Promise<ResultsOf<All>> {
    const held = await this.hold(requireKey(key), options);
    const calling = new HeldCalls(key, this.store);
    try {
      const lines: (readonly Waiting[])[] = [];
      for (const calls of groups) lines.push(await calling.begin(calls, options));
      whenInLine(lines);
    } finally {
      await held.release();
    }
    return (await calling.results()) as ResultsOf<All>;
  }
}

printAs('FairLockProbe', FairLockProbe);
