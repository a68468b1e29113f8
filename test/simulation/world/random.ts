/** A seeded source of chance (sfc32): the same seed draws the same things on every machine. */
export class Random {
  private a: number;
  private b: number;
  private c = 0x9e3779b9;
  private d = 1;

  /** @param stream several independent sources of one seed */
  constructor(seed: number, stream = 0) {
    this.a = seed >>> 0;
    this.b = (Math.floor(seed / 2 ** 32) ^ Math.imul(stream + 1, 0x85ebca6b)) >>> 0;
    for (let i = 0; i < 15; i++) this.next();
  }

  /** In [0, 1). */
  next(): number {
    const sum = (((this.a + this.b) | 0) + this.d) | 0;
    this.d = (this.d + 1) | 0;
    this.a = this.b ^ (this.b >>> 9);
    this.b = (this.c + (this.c << 3)) | 0;
    this.c = (this.c << 21) | (this.c >>> 11);
    this.c = (this.c + sum) | 0;
    return (sum >>> 0) / 2 ** 32;
  }

  between(low: number, high: number): number {
    return low + this.next() * (high - low);
  }

  /** A whole number from `low` to `high`, both included. */
  int(low: number, high: number): number {
    return low + Math.floor(this.next() * (high - low + 1));
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(from: readonly T[]): T {
    return from[Math.floor(this.next() * from.length)] as T;
  }

  hex(bytes: number): string {
    let text = '';
    for (let i = 0; i < bytes; i++) text += this.int(0, 255).toString(16).padStart(2, '0');
    return text;
  }
}
