import { abortError, LockHolderChangedError, LockShuttingDownError } from '../../core/errors/errors.js';
import {
  type Grant,
  type LockSnapshot,
  type LockStore,
  type NamedGrant,
} from '../../core/port/lock-store.js';
import type { Wait } from '../../core/port/wait.js';
import { MemoryLine } from './memory-line.js';
import { NodeTimers } from './node-timers.js';

/**
 * Locks within one process: for tests, for development without Redis, for an application of one instance.
 *
 * Same order, same errors and same tokens as the Redis store. Engines that are given the same instance share its
 * locks; two instances do not share locks. A hold without `leaseTime` runs out only after its
 * `maxHold`, because holder and store crash together.
 * A free lock does not use memory, and an idle store has no timer. No connection keeps the process alive: what waits does, and what ends.
 */
export class MemoryLockStore implements LockStore {
  readonly kind = 'memory';
  readonly fencing = true;
  private readonly lines = new Map<string, MemoryLine>();
  private readonly timers = new NodeTimers();
  private closed = false;

  /** @param lease milliseconds for which a lock outlives the end of its renewal, as in Redis; Infinity: it is lost then */
  constructor(private readonly lease = Infinity) {}

  start(): Promise<void> {
    return Promise.resolve();
  }

  encode(key: string): string {
    return key;
  }

  async acquire(wait: Wait): Promise<Grant> {
    const { key } = wait;
    if (this.closed) throw new LockShuttingDownError(key);
    if (wait.aborted) throw abortError(key, wait.reason);
    return await (this.find(key) ?? this.begin(key)).acquire(wait);
  }

  inspect(key: string): Promise<LockSnapshot> {
    return Promise.resolve(
      this.find(key)?.inspect() ?? { key, holder: undefined, holders: [], waiters: [], queueLength: 0 },
    );
  }

  forceRelease(key: string, { token, holder }: NamedGrant = {}): Promise<boolean> {
    const line = this.find(key);
    const name = token ?? holder;
    const hasEnded = line?.forceRelease(name) ?? false;
    if (!hasEnded && name !== undefined)
      return Promise.reject(new LockHolderChangedError(key, name, line?.token));
    return Promise.resolve(hasEnded);
  }

  close(): Promise<void> {
    this.closed = true;
    for (const [key, line] of this.lines) line.close(new LockShuttingDownError(key));
    return Promise.resolve();
  }

  private find(key: string): MemoryLine | undefined {
    // `settle` may remove the queue, so it is looked up again.
    this.lines.get(key)?.settle();
    return this.lines.get(key);
  }

  private begin(key: string): MemoryLine {
    const line = new MemoryLine(key, this.timers, this.lease, () => this.lines.delete(key));
    this.lines.set(key, line);
    return line;
  }
}
