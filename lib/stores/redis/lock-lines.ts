import type { LineDriver } from './line-driver.js';

/** The lines that a client has something to do with, by the encoded name of the lock. */
export class LockLines {
  private readonly lines = new Map<string, LineDriver>();

  /** @param make the line of a name that has none; it is kept until it calls `forget` */
  constructor(private readonly make: (name: string, forget: (line: LineDriver) => void) => LineDriver) {}

  find(name: string): LineDriver | undefined {
    return this.lines.get(name);
  }

  get(name: string): LineDriver {
    const found = this.find(name);
    if (found) return found;
    const made = this.make(name, (line) => {
      if (this.find(name) === line) this.lines.delete(name);
    });
    this.lines.set(name, made);
    return made;
  }

  all(): LineDriver[] {
    return [...this.lines.values()];
  }

  clear(): void {
    this.lines.clear();
  }
}
