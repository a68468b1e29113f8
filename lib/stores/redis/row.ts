/** For how long after the grant a client may hand a hold on, ms. */
const ROW_TIME = 100;
/**
 * How long after its grant a hold is first named by a heartbeat, ms: that renews a lease that came by message (rule 4), and tells who has the
 * turn. Shorter holds cost no heartbeat.
 */
export const FIRST_BEAT = 200;
/** Within which Redis knows it, unless the process is blocked: with the time that the heartbeat takes, ms. */
export const TOLD_WITHIN = 250;
/** How many requests have their turns in a row at most. */
export const ROW_LENGTH = 64;

/** A request as a row sees it. */
export interface Neighbour {
  readonly id: string;
  /** terms and label */
  readonly about: string;
  /** `id:about` */
  readonly name: string;
  /** Whether it still waits. */
  readonly mayHaveTurn: boolean;
}

/**
 * The turns under one hold: its head has the first, then, for 100 ms after the grant, one neighbour after the other (rule 9).
 *
 * - `ended`: a turn has ended; `next`: who is next, if anybody still waits and the row lasts
 * - `close`: a heartbeat names the hold: whoever has its turn is the last
 * - `told`: that heartbeat was answered: Redis knows who has the turn
 *
 * If that heartbeat is lost, the next one says the same. If the hold's `done` is lost, it is repeated; until then those that were served stay
 * in the queue, and a grant to one of them is ended by `done` (rule 6).
 */
export class Row {
  /** Which neighbour has its turn, from 1 on, or had the last; 0: the head. Written by `next`. */
  private place = 0;
  /** Neighbours whose turns have ended, and that Redis may still have in the queue. Written by `ended`; `takeServed` empties it. */
  private served: Neighbour[] = [];
  /** No further turn begins. Written by `close`. */
  private isClosed = false;
  /** When to tell Redis who has its turn (monotonic); undefined: it knows. Written by `next` and `told`. */
  tellAt: number | undefined;

  /**
   * @param token of the head; the neighbours have the following ones
   * @param neighbours those that may have their turns after the head, in order; undefined: one that has ended
   * @param grantedAt since when (monotonic) it is held
   */
  constructor(
    private readonly token: number,
    private readonly neighbours: readonly (Neighbour | undefined)[],
    private readonly grantedAt: number,
  ) {}

  /** The turn has ended. */
  ended(): void {
    if (this.present) this.served.push(this.present);
  }

  /** After `ended`: which neighbour has its turn now, from 1 on; undefined: none, and the hold ends. */
  next(now: number): number | undefined {
    if (this.isClosed || now > this.grantedAt + ROW_TIME) return undefined;
    for (let place = this.place + 1; place <= this.neighbours.length; place += 1) {
      if (!this.neighbours[place - 1]?.mayHaveTurn) continue;
      this.tellAt = this.grantedAt + FIRST_BEAT;
      return (this.place = place);
    }
    return undefined;
  }

  /** Who has its turn; undefined: the head. */
  private get present(): Neighbour | undefined {
    return this.neighbours[this.place - 1];
  }

  /** A heartbeat names the hold: the turn under way is the last. */
  close(): void {
    this.isClosed = true;
  }

  /** Redis knows who has its turn. */
  told(): void {
    this.tellAt = undefined;
  }

  /** Token and name of the neighbour that has its turn, as a heartbeat tells them; '': the head has it, or Redis knows. */
  get words(): string {
    return this.present && this.tellAt !== undefined ? `${this.token + this.place} ${this.present.name}` : '';
  }

  /** Those whose turns have ended since the last call: their names leave the queue. */
  takeServed(): Neighbour[] {
    const { served } = this;
    this.served = [];
    return served;
  }
}
