import { inspect } from 'node:util';
import { quote } from '../core/errors/text.js';
import { type Calls } from './call-types.js';
import { fail, within, type WithinOptions } from './patience.js';
import { type ProbedStore, type Waiting } from './probed-store.js';

/** Calls that are begun while the test holds the lock that they should wait for. */
export class HeldCalls {
  private readonly waitedBefore: number;
  private readonly grantedBefore: number;
  private readonly running: Promise<unknown>[] = [];

  constructor(
    private readonly key: string,
    private readonly store: ProbedStore,
  ) {
    this.waitedBefore = store.line().length;
    this.grantedBefore = store.grantsOf(key);
  }

  /**
   * Begins further calls. Resolves when all wait, for whatever lock, with the requests for the key that these made.
   *
   * @throws AssertionError if a call ends before it waits, or does not come in time
   */
  async begin(calls: Calls, options?: WithinOptions): Promise<readonly Waiting[]> {
    const before = this.store.line(this.key);
    this.running.push(...calls.map(async (call) => await call()));
    // Errors of calls are checked later; this avoids unhandled rejections until then.
    for (const each of this.running) each.catch(() => undefined);
    const early = this.running.map((each, index) =>
      each.then(
        () => endedEarly(index, this.key),
        (error: unknown) => endedEarly(index, this.key, error),
      ),
    );
    const inLine = () => this.store.line().length - this.waitedBefore >= this.running.length;
    const describe = () =>
      `Expected ${calls.length} calls to wait for ${quote(this.key)}; ${this.store.describeLine(this.key)}`;
    await within(Promise.race([this.store.until(inLine), ...early]), describe, options);
    return this.store.line(this.key).filter((each) => !before.includes(each));
  }

  /** What they resolve with. @throws AssertionError if one of them did not take the lock */
  async results(): Promise<unknown[]> {
    const results = await Promise.all(this.running);
    const granted = this.store.grantsOf(this.key) - this.grantedBefore;
    if (granted < results.length) {
      fail(
        `Expected ${results.length} calls to take the lock ${quote(this.key)}; it was taken ${granted} ${granted === 1 ? 'time' : 'times'}.`,
      );
    }
    return results;
  }
}

function endedEarly(index: number, key: string, error?: unknown): never {
  fail(
    `Call ${index + 1} ended${error === undefined ? '' : withError(error)} while the test held ${quote(key)}: it did not wait for that lock. ` +
      'Is its method decorated with @FairLocked, and is this its key?',
  );
}

export function withError(error: unknown): string {
  return `, with ${inspect(error instanceof Error ? `${error.name}: ${error.message}` : error)}`;
}
