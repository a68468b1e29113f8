/** A lock as the specification sees it: one holder, and a line in the order in which the requests were acknowledged. */
export class ReferenceLock {
  holder: string | undefined;
  readonly line: string[] = [];

  /** Takes the lock if it is free, else the last place in line. Says how many are ahead there. */
  ask(name: string): 'granted' | number {
    if (this.holder !== undefined) return this.line.push(name) - 1;
    this.holder = name;
    return 'granted';
  }

  /** The grant ends, however it ends: the first in line is next. */
  end(): void {
    this.holder = this.line.shift();
  }

  /** One in line has the lock in place of the present holder, who is the first in line again. */
  overtake(name: string): void {
    this.leave(name);
    this.line.unshift(this.holder!);
    this.holder = name;
  }

  leave(name: string): void {
    this.line.splice(this.line.indexOf(name), 1);
  }
}

/** Locks that have nothing to do with each other, whether by their names or by their registrations. */
export class Reference {
  readonly locks: readonly ReferenceLock[];

  constructor(count: number) {
    this.locks = Array.from({ length: count }, () => new ReferenceLock());
  }
}
