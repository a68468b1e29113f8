import { Numbers } from './store.js';

const FIRST_SIZE = 1 << 10;
/** Ints of an entry: the pair, and its number plus one; 0: the entry is free. */
const WIDTH = 3;

/** Remembers a number, 0 or more, for a pair of numbers. Millions of them take little memory. */
export class PairMemo {
  private table = new Int32Array(FIRST_SIZE * WIDTH);
  private mask = FIRST_SIZE - 1;
  private count = 0;

  /** The number; -1: none is known. */
  get(a: number, b: number): number {
    return this.table[this.entryOf(a, b) + 2]! - 1;
  }

  /** The number, which is made if none is known. */
  of(a: number, b: number, make: () => number): number {
    const known = this.get(a, b);
    return known >= 0 ? known : this.set(a, b, make());
  }

  set(a: number, b: number, value: number): number {
    if (this.count * 2 > this.mask) this.grow();
    const at = this.entryOf(a, b);
    if (this.table[at + 2] === 0) this.count += 1;
    this.table[at] = a;
    this.table[at + 1] = b;
    this.table[at + 2] = value + 1;
    return value;
  }

  private entryOf(a: number, b: number): number {
    const { table, mask } = this;
    let entry = hash(a, b) & mask;
    for (;;) {
      const at = entry * WIDTH;
      if (table[at + 2] === 0 || (table[at] === a && table[at + 1] === b)) return at;
      entry = (entry + 1) & mask;
    }
  }

  private grow(): void {
    const { table } = this;
    this.table = new Int32Array(table.length * 2);
    this.mask = this.mask * 2 + 1;
    for (let at = 0; at < table.length; at += WIDTH) {
      if (table[at + 2] === 0) continue;
      this.table.set(table.subarray(at, at + WIDTH), this.entryOf(table[at]!, table[at + 1]!));
    }
  }
}

/** Pairs of numbers as numbers, from 0 on, in the order of their coming. */
export class Pairs {
  private readonly ids = new PairMemo();
  private readonly firsts = new Numbers();
  private readonly seconds = new Numbers();

  id(a: number, b: number): number {
    return this.ids.of(a, b, () => {
      this.firsts.add(a);
      this.seconds.add(b);
      return this.firsts.length - 1;
    });
  }

  first(id: number): number {
    return this.firsts.at(id);
  }

  second(id: number): number {
    return this.seconds.at(id);
  }
}

function hash(a: number, b: number): number {
  let result = Math.imul(a ^ 0x811c9dc5, 0x9e3779b1);
  result = Math.imul((result ^ (result >>> 15)) + b, 0x85ebca6b);
  result ^= result >>> 13;
  return result >>> 0;
}
