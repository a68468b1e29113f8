/** Texts as numbers: equal texts have equal numbers, which differ from one search to the next. */
export class Texts {
  private readonly ids = new Map<string, number>();
  private readonly texts: string[] = [];
  private readonly hashes: number[] = [];

  id(text: string): number {
    let id = this.ids.get(text);
    if (id === undefined) {
      id = this.texts.length;
      this.texts.push(text);
      this.hashes.push(hash(text));
      this.ids.set(text, id);
    }
    return id;
  }

  text(id: number): string {
    return this.texts[id]!;
  }

  /** An order of texts that is the same in each search. */
  compare(a: number, b: number): number {
    if (a === b) return 0;
    return this.hashes[a]! - this.hashes[b]! || (this.text(a) < this.text(b) ? -1 : 1);
  }

  get size(): number {
    return this.texts.length;
  }
}

export function hash(text: string): number {
  let result = 0;
  for (let i = 0; i < text.length; i++) result = (Math.imul(result, 31) + text.charCodeAt(i)) | 0;
  return result;
}

/** Remembers what a pure function returned. */
export function remembered<Key extends string | number, Result>(
  make: (key: Key) => Result,
): (key: Key) => Result {
  const known = new Map<Key, Result>();
  return (key) => {
    let result = known.get(key);
    if (result === undefined) {
      result = make(key);
      known.set(key, result);
    }
    return result;
  };
}
