/** Of each function, the results of so many calls are remembered. */
const MOST = 100_000;

/** Results by their keys. If there are too many, it forgets them all: they can be made again. */
export class Recent<Key, Result> {
  private readonly known = new Map<Key, Result>();

  of(key: Key, make: () => Result): Result {
    let result = this.known.get(key);
    if (result === undefined) {
      result = make();
      if (this.known.size >= MOST) this.known.clear();
      this.known.set(key, result);
    }
    return result;
  }
}

/** Remembers what a pure function of the number of a text returned. */
export function remembered<Result>(make: (id: number) => Result): (id: number) => Result {
  const recent = new Recent<number, Result>();
  return (id) => recent.of(id, () => make(id));
}
