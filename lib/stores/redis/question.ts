import type { CommandFailure } from '../redis-client/server-failure.js';
import type { Answer } from './answer.js';
import { answerTo, type Hearer } from './line-commands.js';
import type { Waiter } from './waiter.js';

const NOBODY: readonly Waiter[] = [];

/** What a question needs of whoever puts it. */
export interface Questioner {
  /** Sends its command. */
  send(question: Question, hearer: Hearer): void;
  answered(question: Question, answer: Answer): void;
  /** The first attempt failed. */
  doubtful(question: Question, failure: CommandFailure): void;
}

/** A command that asks for the places of requests in line: of one, or of some that came together. */
export class Question implements Hearer {
  private readonly asked = performance.now();
  readonly deadline: number;
  /** How often it was sent, but for answers that it came too late. */
  private attempts = 0;

  /** @param limit ms within which it must be answered */
  constructor(
    private readonly questioner: Questioner,
    readonly first: Waiter,
    limit: number,
    readonly others: readonly Waiter[] = NOBODY,
  ) {
    this.deadline = this.asked + limit;
  }

  /** Whoever asks may have a copy of its command under way, from now on until the deadline (R13). */
  begin(): void {
    this.first.mayBeUnsure(this.asked, this.deadline);
    for (const waiter of this.others) waiter.mayBeUnsure(this.asked, this.deadline);
    this.say();
  }

  say(): void {
    this.attempts += 1;
    this.questioner.send(this, this);
  }

  /** As `say`, once it is known that there may be copies of it. */
  readonly repeat = (): Promise<Answer> => {
    this.attempts += 1;
    return answerTo((hearer) => this.questioner.send(this, hearer));
  };

  answered(answer: Answer): void {
    this.questioner.answered(this, answer);
  }

  failed(failure: CommandFailure): void {
    this.questioner.doubtful(this, failure);
  }

  /** The answer was that it came too late, and it may be asked again; false: nobody wants to know any more. */
  again(): boolean {
    if (performance.now() >= this.deadline) return false;
    if (this.first.settled && this.others.every(({ settled }) => settled)) return false;
    this.attempts -= 1;
    return true;
  }

  /** It is over. A single command that was answered leaves no copy behind (R13). */
  end(answered: boolean): void {
    const sure = answered && this.attempts === 1;
    this.endFor(this.first, sure);
    for (const waiter of this.others) this.endFor(waiter, sure);
  }

  private endFor(waiter: Waiter, sure: boolean): void {
    waiter.asking = false;
    if (sure) waiter.sureAgain();
  }
}
