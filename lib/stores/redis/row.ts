/** For how long after a client has learned of a grant it may hand the hold on, ms. */
const ROW_TIME = 100;
/**
 * How long after a client has learned of a grant a heartbeat names the hold, ms, if it came by message (rule 4) or was handed on: that renews it
 * and tells who has the turn. Shorter holds cost no heartbeat.
 */
export const FIRST_BEAT = 200;
/** From the grant on, within which Redis knows who has the turn, if the message and the heartbeat take 50 ms or less together, ms. */
export const ANNOUNCED_WITHIN = 250;
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
 * The turns under one hold: its head has the first, then, for 100 ms after the client has learned of the grant, one neighbour after the other
 * (rule 9).
 *
 * It saves each neighbour a handoff, which costs a command and a message.
 *
 * The client ends a row: when it is closed, when its time has passed, or when no neighbour waits (`next`). It ends sooner with its hold: if the
 * lease is lost, has expired or is not renewed any more (`RedisHold.next`), or if the lock is kept (`Lock.release`).
 *
 * If the message of the grant is lost, the lock stands still until the next heartbeat of the head (a third of `livenessWindow`), which finds it
 * held: it has its turn alone, and the neighbours wait on in the queue. If the heartbeat that announces a turn is lost, the next one says the
 * same. If the hold's `done` is lost, it is repeated; until then those that were served stay in the queue, and a grant to one of them is ended
 * by `done` (rule 6).
 */
export class Row<N extends Neighbour> {
  /** Which neighbour has its turn, from 1 on, or had the last; 0: the head. Written by `next`. */
  private place = 0;
  /** Neighbours whose turns have ended, and that Redis may still have in the queue. Written by `ended`; `takeServed` empties it. */
  private served: N[] = [];
  /** No further turn begins. Written by `close`. */
  private isClosed = false;
  /** When to tell Redis who has its turn (monotonic); undefined: it knows. Written by `next` and `announced`. */
  announceAt: number | undefined;

  /**
   * @param token of the head; the neighbours have the following ones
   * @param neighbours those that may have their turns after the head, in order; undefined: one that has ended
   * @param learnedAt when (monotonic) the client learned of its grant
   */
  constructor(
    private readonly token: number,
    private readonly neighbours: readonly (N | undefined)[],
    private readonly learnedAt: number,
  ) {}

  /** The turn has ended. */
  ended(): void {
    if (this.present) this.served.push(this.present);
  }

  /** After `ended`: the neighbour that has its turn now, with its token; undefined: none, and the hold ends. */
  next(now: number): { readonly request: N; readonly token: number } | undefined {
    if (this.isClosed || now > this.learnedAt + ROW_TIME) return undefined;
    for (let place = this.place + 1; place <= this.neighbours.length; place += 1) {
      const request = this.neighbours[place - 1];
      if (!request?.mayHaveTurn) continue;
      this.place = place;
      this.announceAt = this.learnedAt + FIRST_BEAT;
      return { request, token: this.token + place };
    }
    return undefined;
  }

  /** Who has its turn; undefined: the head. */
  private get present(): N | undefined {
    return this.neighbours[this.place - 1];
  }

  /** A heartbeat names the hold: the turn under way is the last. */
  close(): void {
    this.isClosed = true;
  }

  /** Redis knows who has its turn. */
  announced(): void {
    this.announceAt = undefined;
  }

  /** Token and name of the neighbour that has its turn, as a heartbeat tells them; '': the head has it, or Redis knows. */
  get words(): string {
    return this.present && this.announceAt !== undefined
      ? `${this.token + this.place} ${this.present.name}`
      : '';
  }

  /** Those whose turns have ended since the last call: their names leave the queue. */
  takeServed(): N[] {
    const { served } = this;
    this.served = [];
    return served;
  }
}
