/** Texts as numbers: equal texts have equal numbers. */
export class Texts {
  private readonly ids = new Map<string, number>();
  private readonly texts: string[] = [];

  id(text: string): number {
    let id = this.ids.get(text);
    if (id === undefined) {
      id = this.texts.length;
      this.texts.push(text);
      this.ids.set(text, id);
    }
    return id;
  }

  text(id: number): string {
    return this.texts[id]!;
  }

  get size(): number {
    return this.texts.length;
  }
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
