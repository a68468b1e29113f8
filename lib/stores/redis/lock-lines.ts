import type { LockLine } from './lock-line.js';

/** Where a line stands while there is something to do with it. */
export interface LinePlace {
  /** The line is idle: neither a request nor a grant nor a command is left. */
  forget(): void;
}

/** The lines that a client has something to do with, by the encoded name of the lock. */
export class LockLines {
  private readonly places = new Map<string, Place>();

  /** @param make the line of a name that has none, and is kept until it calls `forget` */
  constructor(private readonly make: (name: string, place: LinePlace) => LockLine) {}

  find(name: string): LockLine | undefined {
    return this.places.get(name)?.line;
  }

  get(name: string): LockLine {
    const found = this.find(name);
    if (found) return found;
    const place = new Place(this.places, name);
    place.line = this.make(name, place);
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
}

/** Emptied with care: a Map that is always in motion remembers long what it has forgotten (see `LinkedList`). */
class Place implements LinePlace {
  line: LockLine | undefined;

  constructor(
    private readonly places: Map<string, Place>,
    private readonly name: string,
  ) {}

  forget(): void {
    this.line = undefined;
    if (this.places.get(this.name) === this) this.places.delete(this.name);
  }
}
