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

/** Remembers what a pure function of the number of a text returned. */
export function remembered<Result>(make: (id: number) => Result): (id: number) => Result {
  const known: (Result | undefined)[] = [];
  return (id) => {
    while (known.length <= id) known.push(undefined);
    return (known[id] ??= make(id));
  };
}
