import type { LockTimeoutError } from '../../core/errors/errors.js';
import type { Instant } from '../../core/port/lease.js';
import type { Request } from './request.js';

interface Turn {
  readonly request: Request;
  readonly token: number;
}

/** Neighbours in line that Redis granted together; they hold the lock one after the other (rule 9). */
export class Batch {
  /** Who has its turn, since when (monotonic). */
  present: { readonly request: Request; readonly since: number } | undefined;
  /** Its lease, which one hands to the next, as a command confirmed it last. */
  lease: { readonly since: Instant; readonly left: number; readonly isConfirmed: boolean };
  private readonly grantedAt = performance.now();

  /** @param head its first request, under whose id Redis keeps it; it is in `turns`, too */
  constructor(
    readonly head: Request,
    private readonly turns: Turn[],
    since: Instant,
    left: number,
  ) {
    this.lease = { since, left, isConfirmed: false };
  }

  /** Those that still wait for their turns. */
  get waiting(): Request[] {
    return this.turns.map(({ request }) => request).filter(({ state }) => state === 'next');
  }

  /** The next that still waits has its turn; undefined if there is none. */
  next(): Turn | undefined {
    for (let turn = this.turns.shift(); turn; turn = this.turns.shift()) {
      const { request, token } = turn;
      if (request.state !== 'next') continue;
      request.hold = this.head.id;
      if (this.present) request.present = `${token} ${request.about}`;
      this.present = { request, since: performance.now() };
      return turn;
    }
    return undefined;
  }

  /** For how long the request that has its turn waited for it, ms. */
  get waitedForTurn(): number {
    return this.present ? this.present.since - this.grantedAt : 0;
  }

  /** What a request waits for: the one that has its turn, and those in front of it. */
  blockerOf(request: Request): LockTimeoutError['blockedBy'] {
    const ahead = Math.max(0, this.waiting.indexOf(request));
    if (!this.present) return { ahead };
    return { holder: this.present.request.who, heldFor: performance.now() - this.present.since, ahead };
  }
}
