import type { LockLine } from './lock-line.js';

/** The lines that a client has something to do with, by the encoded name of the lock. */
export class LockLines {
  private readonly places = new Map<string, Place>();

  /** @param make the line of a name that has none, and is kept until it calls `onIdle` */
  constructor(private readonly make: (name: string, onIdle: (line: LockLine) => void) => LockLine) {}

  find(name: string): LockLine | undefined {
    return this.places.get(name)?.line;
  }

  get(name: string): LockLine {
    const found = this.find(name);
    if (found) return found;
    const place = new Place();
    place.line = this.make(name, () => this.forget(name, place));
    this.places.set(name, place);
    return place.line;
  }

  all(): LockLine[] {
    const all: LockLine[] = [];
    for (const { line } of this.places.values()) if (line) all.push(line);
    return all;
  }

  clear(): void {
    this.places.clear();
  }

  private forget(name: string, place: Place): void {
    place.line = undefined;
    if (this.places.get(name) === place) this.places.delete(name);
  }
}

/** Emptied with care: a Map that is always in motion remembers long what it has forgotten (see `LinkedList`). */
class Place {
  line: LockLine | undefined;
}
