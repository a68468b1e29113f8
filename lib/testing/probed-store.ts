import { quote } from '../core/errors/text.js';
import { type Grant, type Share } from '../core/port/lock-store.js';
import { type Wait } from '../core/port/wait.js';
import { MemoryLockStore } from '../stores/memory/memory-lock-store.js';

/** A request in the queue. */
export interface Waiting {
  readonly key: string;
  readonly label: string;
  readonly share: Share | undefined;
}

/** A memory store that notes every request, and rejects a request on demand. */
export class ProbedStore extends MemoryLockStore {
  private readonly inLine = new Set<Waiting>();
  private readonly refusals = new Map<string, { readonly error: Error }[]>();
  private readonly watchers = new Set<() => void>();
  private readonly granted = new Map<string, number>();
  private readonly most = new Map<string, number>();

  override async acquire(wait: Wait): Promise<Grant> {
    const { key, label, share } = wait;
    const refusal = this.refusals.get(key)?.shift();
    if (refusal) {
      this.changed();
      throw refusal.error;
    }
    const waiting = { key, label, share };
    try {
      const granted = super.acquire(wait);
      if (wait.inLine) {
        this.inLine.add(waiting);
        this.changed();
      }
      const grant = await granted;
      this.granted.set(key, this.grantsOf(key) + 1);
      const { holders } = await this.inspect(key);
      this.most.set(key, Math.max(this.mostTogether(key), holders.length));
      return grant;
    } finally {
      this.inLine.delete(waiting);
      this.changed();
    }
  }

  /** The requests in the queue for `key` (without a key: for all keys), in the order in which they came. */
  line(key?: string): readonly Waiting[] {
    return [...this.inLine].filter((each) => key === undefined || each.key === key);
  }

  /** Who waits for `key`, and which other locks are waited for. */
  describeLine(key: string): string {
    const waiters = this.line(key).map(({ label }) => label);
    const others = new Set([...this.inLine].map((each) => each.key).filter((other) => other !== key));
    const line =
      waiters.length === 0 ? 'none are waiting' : `${waiters.length} waiting: ${waiters.join(', ')}`;
    return others.size === 0 ? line : `${line}. Others are waiting for ${[...others].map(quote).join(', ')}`;
  }

  /** How many times `key` was granted. */
  grantsOf(key: string): number {
    return this.granted.get(key) ?? 0;
  }

  /** How many held `key` at the same time, at most. */
  mostTogether(key: string): number {
    return this.most.get(key) ?? 0;
  }

  /** Counts again from now. */
  countTogether(key: string): void {
    this.most.delete(key);
  }

  /** The next request for `key` is rejected with `error`, unless that is withdrawn before. */
  refuseNext(key: string, error: Error): { pending(): boolean; withdraw(): void } {
    const refusal = { error };
    const refusals = this.refusals.get(key) ?? [];
    this.refusals.set(key, refusals);
    refusals.push(refusal);
    const pending = (): boolean => refusals.includes(refusal);
    return { pending, withdraw: () => pending() && refusals.splice(refusals.indexOf(refusal), 1) };
  }

  /** Resolves when `condition` is met. Checks it now, and whenever a request comes, is served or leaves. */
  async until(condition: () => boolean): Promise<void> {
    if (condition()) return;
    await new Promise<void>((resolve) => {
      const look = (): void => {
        if (!condition()) return;
        this.watchers.delete(look);
        resolve();
      };
      this.watchers.add(look);
    });
  }

  private changed(): void {
    for (const look of this.watchers) look();
  }
}
