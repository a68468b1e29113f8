import { type Waiter } from './waiter.js';

/** The order of service. A doubly linked list: joining, leaving from anywhere and serving the first are O(1). */
export class WaiterList {
  private first: Waiter | undefined;
  private last: Waiter | undefined;
  private count = 0;

  get length(): number {
    return this.count;
  }

  push(waiter: Waiter): void {
    waiter.previous = this.last;
    if (this.last) this.last.next = waiter;
    else this.first = waiter;
    this.last = waiter;
    this.count += 1;
  }

  /** Takes the first out. */
  shift(): Waiter | undefined {
    const first = this.first;
    if (first) this.remove(first);
    return first;
  }

  /** Takes `waiter` out, wherever it stands; no effect if it has left already. */
  remove(waiter: Waiter): void {
    const { previous, next } = waiter;
    if (!previous && this.first !== waiter) return;
    if (previous) previous.next = next;
    else this.first = next;
    if (next) next.previous = previous;
    else this.last = previous;
    waiter.previous = waiter.next = undefined;
    this.count -= 1;
  }

  /** How many stand before `waiter`; undefined if they are more than `limit`, so that asking costs no more than that. */
  countAhead(waiter: Waiter, limit: number): number | undefined {
    let ahead = 0;
    for (let other = waiter.previous; other; other = other.previous) {
      if (ahead === limit) return undefined;
      ahead += 1;
    }
    return ahead;
  }

  *[Symbol.iterator](): IterableIterator<Waiter> {
    for (let waiter = this.first; waiter; waiter = waiter.next) yield waiter;
  }
}
