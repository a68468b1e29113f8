import type { SimProcess } from './sim-process.js';

/** Which code of a process set a timer: the client under test, or a flow that calls it. */
export type TimerOf = 'client' | 'flow';

/** Something that happens at a virtual time. */
export interface Happening {
  readonly at: number;
  /** Among happenings of the same time, the earlier scheduled one comes first. */
  readonly order: number;
  /** The process in which it happens; none: in the network or on the server. */
  readonly process: SimProcess | undefined;
  /** undefined: no timer, but something that arrives. */
  readonly timer: TimerOf | undefined;
  /** Where it was scheduled; known in traced runs. */
  readonly origin: string | undefined;
  run: (() => void) | undefined;
}

/** A binary heap by time, then by order. */
export class EventHeap {
  private readonly heap: Happening[] = [];

  peek(): Happening | undefined {
    return this.heap[0];
  }

  push(added: Happening): void {
    const { heap } = this;
    let index = heap.length;
    heap.push(added);
    while (index > 0) {
      const parentIndex = (index - 1) >> 1;
      const parent = heap[parentIndex] as Happening;
      if (!before(added, parent)) break;
      heap[index] = parent;
      index = parentIndex;
    }
    heap[index] = added;
  }

  pop(): Happening | undefined {
    const { heap } = this;
    const first = heap[0];
    const last = heap.pop();
    if (!first || !last || heap.length === 0) return first;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && before(heap[child + 1] as Happening, heap[child] as Happening))
        child += 1;
      const smaller = heap[child] as Happening;
      if (!before(smaller, last)) break;
      heap[index] = smaller;
      index = child;
    }
    heap[index] = last;
    return first;
  }

  find(test: (happening: Happening) => boolean): Happening | undefined {
    return this.heap.find(test);
  }
}

function before(one: Happening, other: Happening): boolean {
  return one.at < other.at || (one.at === other.at && one.order < other.order);
}
