/**
 * The locks that a client uses, by their names.
 *
 * Each is in a slot, which is emptied when it is forgotten. When a Map grows, V8 keeps the old table with all its values
 * until a full garbage collection (see `LinkedList`). Locks come and go with every call, so the old table should keep only empty slots.
 */
export class LockMap<L extends object> {
  private readonly slots = new Map<string, { lock?: L | undefined }>();

  /** @param make the lock of a name that has none; it is kept until it calls `forget` */
  constructor(private readonly make: (name: string, forget: () => void) => L) {}

  find(name: string): L | undefined {
    return this.slots.get(name)?.lock;
  }

  get(name: string): L {
    const found = this.find(name);
    if (found) return found;
    const slot: { lock?: L | undefined } = {};
    const made = this.make(name, () => {
      slot.lock = undefined;
      if (this.slots.get(name) === slot) this.slots.delete(name);
    });
    slot.lock = made;
    this.slots.set(name, slot);
    return made;
  }

  all(): L[] {
    return [...this.slots.values()].flatMap(({ lock }) => lock ?? []);
  }

  clear(): void {
    this.slots.clear();
  }
}
