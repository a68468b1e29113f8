/** What a list holds knows its neighbours there; it can be in one list only. */
export interface Linked<T> {
  previous: T | undefined;
  next: T | undefined;
}

/**
 * In the order of adding, each in O(1).
 *
 * Not a Set, for what comes and goes with every lock: a table that V8 has outgrown keeps what it held, and its successor,
 * until a full garbage collection; so a Set that is always in motion fills the old generation with all that ever was in it.
 */
export class LinkedList<T extends Linked<T>> {
  private head: T | undefined;
  private last: T | undefined;
  private count = 0;

  get size(): number {
    return this.count;
  }

  get first(): T | undefined {
    return this.head;
  }

  add(item: T): void {
    this.count += 1;
    item.previous = this.last;
    if (this.last) this.last.next = item;
    else this.head = item;
    this.last = item;
  }

  /** False, and without effect, if it is in no list. */
  delete(item: T): boolean {
    const { previous, next } = item;
    if (!previous && this.head !== item) return false;
    this.count -= 1;
    if (previous) previous.next = next;
    else this.head = next;
    if (next) next.previous = previous;
    else this.last = previous;
    item.previous = undefined;
    item.next = undefined;
    return true;
  }

  /** Those in it now, whatever is deleted meanwhile. */
  all(): T[] {
    const all: T[] = [];
    for (let item = this.head; item; item = item.next) all.push(item);
    return all;
  }
}
