/** Numbers, as many as are added, in chunks that never move. */
export class Numbers {
  private readonly chunks: Int32Array[] = [];
  private count = 0;

  get length(): number {
    return this.count;
  }

  add(value: number): void {
    const chunk = this.count >>> CHUNK_BITS;
    (this.chunks[chunk] ??= new Int32Array(1 << CHUNK_BITS))[this.count & CHUNK_MASK] = value;
    this.count += 1;
  }

  at(index: number): number {
    return this.chunks[index >>> CHUNK_BITS]![index & CHUNK_MASK]!;
  }
}

const CHUNK_BITS = 16;
const CHUNK_MASK = (1 << CHUNK_BITS) - 1;

/** Sets of `width` numbers, each kept once, in the order of their coming: also the queue of a search. */
export class StateStore {
  private readonly numbers = new Numbers();
  private table = new Int32Array(1 << 16);
  private count = 0;

  constructor(private readonly width: number) {}

  get size(): number {
    return this.count;
  }

  /** The position of the state, and whether it is new. */
  add(state: readonly number[]): { readonly index: number; readonly isNew: boolean } {
    if (this.count * 2 > this.table.length) this.grow();
    const slot = this.slotOf(state);
    const known = this.table[slot]! - 1;
    if (known >= 0) return { index: known, isNew: false };
    for (const number of state) this.numbers.add(number);
    this.table[slot] = this.count += 1;
    return { index: this.count - 1, isNew: true };
  }

  get(index: number): number[] {
    return Array.from({ length: this.width }, (_, i) => this.numbers.at(index * this.width + i));
  }

  private slotOf(state: readonly number[]): number {
    const mask = this.table.length - 1;
    let slot = hash(state) & mask;
    for (;;) {
      const entry = this.table[slot]!;
      if (entry === 0 || this.isAt(entry - 1, state)) return slot;
      slot = (slot + 1) & mask;
    }
  }

  private isAt(index: number, state: readonly number[]): boolean {
    for (let i = 0; i < this.width; i++)
      if (this.numbers.at(index * this.width + i) !== state[i]) return false;
    return true;
  }

  private grow(): void {
    const { count } = this;
    this.table = new Int32Array(this.table.length * 2);
    const mask = this.table.length - 1;
    for (let index = 0; index < count; index++) {
      let slot = hash(this.get(index)) & mask;
      while (this.table[slot] !== 0) slot = (slot + 1) & mask;
      this.table[slot] = index + 1;
    }
  }
}

function hash(state: readonly number[]): number {
  let result = 0x811c9dc5;
  for (const number of state) {
    result = Math.imul(result ^ number, 0x9e3779b1);
    result ^= result >>> 15;
  }
  return result >>> 0;
}
