import { SortedSet } from './sorted-set.js';

export interface Value {
  readonly content: Map<string, string> | SortedSet;
  /** Server time in ms after which the key is gone. */
  expireAt: number | undefined;
}

/** The keys of a server, with their expiry on the server's clock. */
export class Keyspace {
  private values = new Map<string, Value>();

  constructor(
    /** The time of the command that runs, ms. */
    private readonly now: () => number,
  ) {}

  get(key: string): Value | undefined {
    const value = this.values.get(key);
    if (!value) return undefined;
    if (value.expireAt !== undefined && this.now() > value.expireAt) {
      this.values.delete(key);
      return undefined;
    }
    return value;
  }

  create(key: string, content: Value['content']): void {
    this.values.set(key, { content, expireAt: undefined });
  }

  delete(key: string): boolean {
    const existed = this.get(key) !== undefined;
    this.values.delete(key);
    return existed;
  }

  /** A key whose last member went goes too. */
  deleteIfEmpty(key: string): void {
    if (this.values.get(key)?.content.size === 0) this.values.delete(key);
  }

  flush(): void {
    this.values.clear();
  }

  /** The keys that are there now. */
  keys(): string[] {
    return [...this.values.keys()].filter((key) => this.get(key) !== undefined);
  }

  snapshot(): Map<string, Value> {
    const copy = new Map<string, Value>();
    for (const [key, { content, expireAt }] of this.values) {
      copy.set(key, { content: content instanceof SortedSet ? content.copy() : new Map(content), expireAt });
    }
    return copy;
  }

  restore(snapshot: Map<string, Value>): void {
    this.values = snapshot;
  }
}
