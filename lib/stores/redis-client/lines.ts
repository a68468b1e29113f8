/** The lines that a client has something to do with, by the name of the lock. */
export class Lines<L> {
  private readonly lines = new Map<string, L>();

  /** @param make the line of a name that has none; it is kept until it calls `forget` */
  constructor(private readonly make: (name: string, forget: () => void) => L) {}

  find(name: string): L | undefined {
    return this.lines.get(name);
  }

  get(name: string): L {
    const found = this.lines.get(name);
    if (found) return found;
    const made = this.make(name, () => {
      if (this.lines.get(name) === made) this.lines.delete(name);
    });
    this.lines.set(name, made);
    return made;
  }

  all(): L[] {
    return [...this.lines.values()];
  }

  clear(): void {
    this.lines.clear();
  }
}
