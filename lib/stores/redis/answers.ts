import type { Instant } from '../../core/port/lease.js';

/** How many are kept: an acquire of a neighbour may be answered while the message is under way. */
const MOST = 4;

interface Answer {
  readonly sentAt: Instant;
  /** The token that the lock had given last when Redis answered. */
  readonly token: number;
}

/** The last answers about one lock. They tell how old a message can be at most (rule 5). */
export class Answers {
  private readonly last: Answer[] = [];

  add(answer: Answer): void {
    this.last.push(answer);
    if (this.last.length > MOST) this.last.shift();
  }

  /** When the newest command was sent whose answer told a lower token: the grant with `token` was made after that. Undefined: none did. */
  before(token: number): Instant | undefined {
    let newest: Answer | undefined;
    for (const answer of this.last) {
      if (answer.token < token && (!newest || answer.sentAt.monotonic > newest.sentAt.monotonic))
        newest = answer;
    }
    return newest?.sentAt;
  }
}
