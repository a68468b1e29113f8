import { type Grant, type LockRequest, type LockSnapshot, type LockStore } from '../core/lock-store.js';

/** A request in line. */
interface Waiting {
  readonly key: string;
  readonly label: string;
}

/** A store that notes every request, and refuses a request on demand. Everything else is done by `store`. */
export class ProbedStore implements LockStore {
  readonly kind: string;
  readonly fencing: boolean;
  private readonly inLine = new Set<Waiting>();
  private readonly refusals = new Map<string, (() => Error)[]>();
  private readonly watchers = new Set<() => void>();
  private readonly granted = new Map<string, number>();

  constructor(private readonly store: LockStore) {
    this.kind = store.kind;
    this.fencing = store.fencing;
  }

  start(): Promise<void> {
    return this.store.start();
  }

  encode(key: string): string {
    return this.store.encode(key);
  }

  async acquire(request: LockRequest): Promise<Grant> {
    const { key, label } = request;
    const refuse = this.refusals.get(key)?.shift();
    if (refuse) {
      this.changed();
      throw refuse();
    }
    const waiting = { key, label };
    try {
      const grant = await this.store.acquire(
        onceQueued(request, () => {
          this.inLine.add(waiting);
          this.changed();
        }),
      );
      this.granted.set(key, this.grantsOf(key) + 1);
      return grant;
    } finally {
      this.inLine.delete(waiting);
      this.changed();
    }
  }

  inspect(key: string): Promise<LockSnapshot> {
    return this.store.inspect(key);
  }

  forceRelease(key: string): Promise<boolean> {
    return this.store.forceRelease(key);
  }

  close(): Promise<void> {
    return this.store.close();
  }

  /** The labels of those in line for `key`, of all without a key, in the order in which they came. */
  waiters(key?: string): readonly string[] {
    const waiting = [...this.inLine].filter((each) => key === undefined || each.key === key);
    return waiting.map(({ label }) => label);
  }

  /** The keys that have waiters. */
  keysWaitedFor(): readonly string[] {
    return [...new Set([...this.inLine].map(({ key }) => key))];
  }

  /** How many times `key` was granted. */
  grantsOf(key: string): number {
    return this.granted.get(key) ?? 0;
  }

  /** The next request for `key` is refused with what `error` makes. The result takes the refusal back, if it is still there. */
  refuseNext(key: string, error: () => Error): () => boolean {
    const refusals = this.refusals.get(key) ?? [];
    this.refusals.set(key, refusals);
    refusals.push(error);
    return () => {
      const index = refusals.indexOf(error);
      if (index >= 0) refusals.splice(index, 1);
      return index >= 0;
    };
  }

  /** Resolves when `condition` is met: looked at now, and whenever a request comes, is served or leaves. */
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

/** The same request, which also reports when it is put in line. */
function onceQueued(request: LockRequest, onQueued: () => void): LockRequest {
  const { key, waitTime, leaseTime, maxQueue, label, signal } = request;
  return {
    key,
    waitTime,
    maxQueue,
    label,
    ...(leaseTime !== undefined && { leaseTime }),
    ...(signal && { signal }),
    onQueued: (ahead) => {
      onQueued();
      request.onQueued?.(ahead);
    },
  };
}
