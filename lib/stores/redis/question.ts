import type { Answer } from './line-commands.js';
import type { Waiter } from './waiter.js';

const NOBODY: readonly Waiter[] = [];

/** A command that asks for the places of requests in line: of one, or of some that came together. */
export class Question {
  private readonly asked = performance.now();
  readonly deadline: number;
  /** How often it was sent, but for answers that it came too late. */
  private attempts = 0;

  /**
   * @param limit ms within which it must be answered
   * @param command sends it
   */
  constructor(
    readonly first: Waiter,
    limit: number,
    private readonly command: (question: Question) => Promise<Answer>,
    readonly others: readonly Waiter[] = NOBODY,
  ) {
    this.deadline = this.asked + limit;
  }

  readonly say = (): Promise<Answer> => {
    this.attempts += 1;
    return this.command(this);
  };

  /** Whoever asks may have a copy of its command under way, from now on until the deadline (R13). */
  begin(): void {
    this.first.mayBeUnsure(this.asked, this.deadline);
    for (const waiter of this.others) waiter.mayBeUnsure(this.asked, this.deadline);
  }

  /** It is over, however. */
  end(): void {
    this.first.asking = false;
    for (const waiter of this.others) waiter.asking = false;
  }

  /** The answer was that it came too late, and it may be asked again; false: nobody wants to know any more. */
  again(): boolean {
    if (performance.now() >= this.deadline) return false;
    if (this.first.settled && this.others.every(({ settled }) => settled)) return false;
    this.attempts -= 1;
    return true;
  }

  /** A single command that was answered leaves no copy behind (R13). */
  answered(): void {
    if (this.attempts !== 1) return;
    this.first.sureAgain();
    for (const waiter of this.others) waiter.sureAgain();
  }
}
