import { type Share } from '../../lib/core/port/lock-store.js';

/** A request, as the specification sees it. */
export interface Asked {
  readonly name: string;
  /** Absent: it wants the lock alone. */
  readonly share?: Share | undefined;
}

/** A lock as the specification sees it: its holders, and a line in the order in which the requests were acknowledged. */
export class ReferenceLock {
  holders: Asked[] = [];
  line: Asked[] = [];

  /** What is taken, if it is shared. */
  get used(): number | undefined {
    return this.holders.some(({ share }) => share) ? sumOf(this.holders) : undefined;
  }

  /** Of permits, how many there are. */
  get limit(): number | undefined {
    const limits = this.holders.flatMap(({ share }) => (share?.mode === 'permits' ? [share.permits] : []));
    return limits.length > 0 ? Math.min(...limits) : undefined;
  }

  /** Whether a request that comes now is granted at once. */
  admits(asked: Asked): boolean {
    return this.line.length === 0 && this.isMet(asked);
  }

  /** Takes the last place in line. Says how many are ahead there, unless it is granted at once. */
  ask(asked: Asked): 'granted' | number {
    const ahead = this.line.push(asked) - 1;
    return this.pass().includes(asked) ? 'granted' : ahead;
  }

  /** The holds of `ended` end, however that is. Returns who is served then. */
  end(...ended: readonly Asked[]): Asked[] {
    this.holders = this.holders.filter((each) => !ended.includes(each));
    return this.pass();
  }

  /** Leaves the line. Returns who is served then. */
  leave(asked: Asked): Asked[] {
    this.line = this.line.filter((each) => each !== asked);
    return this.pass();
  }

  /** One in line has the lock in place of the present holders, who are the first in line again. Returns who holds it then. */
  overtake(asked: Asked): Asked[] {
    this.line = [asked, ...[...this.holders, ...this.line].filter((each) => each !== asked)];
    this.holders = [];
    return this.pass();
  }

  private pass(): Asked[] {
    const served = [];
    for (let head = this.line[0]; head && this.isMet(head); head = this.line[0]) {
      this.line.shift();
      this.holders.push(head);
      served.push(head);
    }
    return served;
  }

  private isMet(asked: Asked): boolean {
    return mayHoldTogether([...this.holders, asked]);
  }
}

/** One alone; readers; or permits, of which no more are taken than each of their holders asked for. */
export function mayHoldTogether(all: readonly Pick<Asked, 'share'>[]): boolean {
  if (all.length === 1) return true;
  const sum = sumOf(all);
  return (
    all.every(({ share }) => share?.mode === 'read') ||
    all.every(({ share }) => share?.mode === 'permits' && sum <= share.permits)
  );
}

function sumOf(all: readonly Pick<Asked, 'share'>[]): number {
  return all.reduce((sum, { share }) => sum + (share?.mode === 'permits' ? share.weight : 1), 0);
}

/** Locks that have nothing to do with each other, whether by their names or by their registrations. */
export class Reference {
  readonly locks: readonly ReferenceLock[];

  constructor(count: number) {
    this.locks = Array.from({ length: count }, () => new ReferenceLock());
  }
}
