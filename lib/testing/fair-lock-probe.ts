import { inspect } from 'node:util';
import { LockConfigurationError } from '../core/errors/errors.js';
import { type Grant } from '../core/port/lock-store.js';
import { Wait } from '../core/port/wait.js';
import { lockOrder, requireKey } from '../core/options/lock-keys.js';
import { quote } from '../core/errors/text.js';
import { LockedMethod } from '../nest/decorator/locked-method.js';
import { type StoreFactory } from '../setup/store-factory.js';
import { fail, within, type WithinOptions } from './patience.js';
import { ProbedStore } from './probed-store.js';

/** A lock that a test holds from outside of the application. */
export interface ProbeHold extends AsyncDisposable {
  /** In the order in which they were locked. */
  readonly keys: readonly string[];
  /** Gives the lock to the next in line; idempotent. */
  release(): Promise<void>;
}

/** The methods of `T`, by name. */
export type MethodName<T> = {
  [Name in keyof T]: T[Name] extends (...args: never[]) => unknown ? Name : never;
}[keyof T];

/** The arguments of a method of `T`. */
export type ArgumentsOf<T, Name extends keyof T> = T[Name] extends (...args: infer Args) => unknown
  ? Args
  : never;

/** The results of calls, in their order. */
export type ResultsOf<Calls extends readonly (() => unknown)[]> = {
  -readonly [Index in keyof Calls]: Awaited<ReturnType<Calls[Index]>>;
};

/**
 * Controls the locks of an application under test: holds them, waits for calls that request them, takes them away.
 *
 * A helper fails with an AssertionError if the expected event does not happen within 2 seconds of real time, also under fake timers;
 * `{ within }` changes that time.
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
  private readonly store = new ProbedStore();

  /** @internal The factory with which the registration makes its store. */
  readonly createStore: StoreFactory = () => this.store;

  /**
   * The keys that a call of a decorated method with these arguments takes, as its decorator makes them. Nothing is called.
   *
   * @throws LockConfigurationError if the method is not decorated with `@FairLocked`
   * @throws LockKeyError if the arguments make no key
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
      `${place} is not decorated with @FairLocked, so a call of it takes no lock. Decorate it, or pass the method that is ` +
        'decorated: an override in a subclass needs its own decorator, and a mock has none.',
    );
  }

  /**
   * Takes the lock as another process would, so every call of the application waits for it. Waits in line itself while the lock is
   * busy. The hold belongs to no flow of the application, so no request nests in it.
   */
  async hold(keys: string | readonly string[], options?: WithinOptions): Promise<ProbeHold> {
    let wait: Wait | undefined;
    const grants: Grant[] = [];
    const taken = lockOrder(typeof keys === 'string' ? [keys] : keys, (key) => key).map(({ key }) => key);
    const release = async (): Promise<void> => {
      for (const grant of grants.splice(0).reverse()) await grant.release();
    };
    try {
      for (const key of taken) {
        const request = { key, waitTime: Infinity, maxQueue: Infinity, label: 'FairLockProbe.hold' };
        wait = new Wait(request);
        const granted = this.store.acquire(wait);
        grants.push(await within(granted, () => `The lock ${quote(key)} was not given to hold()`, options));
      }
    } catch (error) {
      wait?.abort();
      await release();
      throw error;
    }
    return { keys: taken, release, [Symbol.asyncDispose]: release };
  }

  /**
   * Resolves when `count` requests or more wait for `key`, the holder not counted.
   *
   * @throws AssertionError if they do not come in time
   */
  async waitForLine(key: string, count = 1, options?: WithinOptions): Promise<void> {
    requireKey(key);
    await within(
      this.store.until(() => this.store.waiters(key).length >= count),
      () => `${count} in line for ${quote(key)} were expected; ${this.describeLine(key)}`,
      options,
    );
  }

  /**
   * Takes the lock from its holder, for which it is lost: `lock.signal` aborts, `assertHeld()` throws. The next in line is served.
   *
   * @throws AssertionError if the lock is not held
   */
  async lose(key: string): Promise<void> {
    if (!(await this.store.forceRelease(requireKey(key)))) {
      fail(`The lock ${quote(key)} cannot be lost: it is not held.`);
    }
  }

  /**
   * Runs `call`, in which the next request for `key` is refused with `error`: `new LockTimeoutError(key, 5_000)`,
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
        () => `The lock ${quote(key)} was not requested by the call; ${this.describeLine(key)}`,
        options,
      );
      if (refusal.pending()) {
        fail(`The call ended${how ?? ''} without requesting the lock ${quote(key)}, so nothing could fail.`);
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
  async assertSerialized<const Calls extends readonly (() => unknown)[]>(
    key: string,
    calls: Calls,
    options?: WithinOptions,
  ): Promise<ResultsOf<Calls>> {
    if (calls.length < 2) {
      fail(`assertSerialized needs two calls or more; it was given ${inspect(calls.length)}.`);
    }
    const held = await this.hold(requireKey(key), options);
    const waitedBefore = this.store.waiters().length;
    const grantedBefore = this.store.grantsOf(key);
    const running = calls.map(async (call) => await call());
    // Errors of calls are checked below; this avoids unhandled rejections until then.
    for (const each of running) each.catch(() => undefined);
    try {
      const early = running.map((each, index) =>
        each.then(
          () => endedEarly(index, key),
          (error: unknown) => endedEarly(index, key, error),
        ),
      );
      await within(
        Promise.race([
          this.store.until(() => this.store.waiters().length - waitedBefore >= calls.length),
          ...early,
        ]),
        () => `${calls.length} calls were to wait for ${quote(key)}; ${this.describeLine(key)}`,
        options,
      );
    } finally {
      await held.release();
    }
    const results = await Promise.all(running);
    const granted = this.store.grantsOf(key) - grantedBefore;
    if (granted < calls.length) {
      fail(
        `${calls.length} calls were to take the lock ${quote(key)}; it was taken ${granted} ${granted === 1 ? 'time' : 'times'}.`,
      );
    }
    return results as ResultsOf<Calls>;
  }

  private describeLine(key: string): string {
    const waiters = this.store.waiters(key);
    const others = this.store.keysWaitedFor().filter((other) => other !== key);
    const line = waiters.length === 0 ? 'none waits' : `${waiters.length} wait: ${waiters.join(', ')}`;
    return others.length === 0 ? line : `${line}. Others wait for ${others.map(quote).join(', ')}`;
  }
}

function endedEarly(index: number, key: string, error?: unknown): never {
  fail(
    `Call ${index + 1} ended${error === undefined ? '' : withError(error)} while the test held ${quote(key)}: it did not wait for that lock. ` +
      'Is its method decorated with @FairLocked, and is that its key?',
  );
}

function withError(error: unknown): string {
  return `, with ${inspect(error instanceof Error ? `${error.name}: ${error.message}` : error)}`;
}
