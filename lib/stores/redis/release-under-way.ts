import type { Retry } from '../redis-client/retry.js';
import type { CommandFailure } from '../redis-client/server-failure.js';
import type { Answer } from './answer.js';
import { answerTo, type Finished, type Hearer } from './line-commands.js';
import type { Timing } from './timing.js';

/** What a release needs of the grant that it gives back. */
export interface Releaser {
  /** Sends the command. */
  sendRelease(over: Finished, hearer: Hearer): void;
  /** It is over; without an answer the lease ends the grant. Once. */
  released(answer: Answer | undefined): void;
}

/** A grant on its way back: said until Redis has answered, or the lease must have ended it. */
export class ReleaseUnderWay implements Hearer {
  /** Resolves when it is acknowledged, at the latest after the command deadline; it goes on in the background until then. */
  readonly acknowledged: Promise<void>;
  private readonly started = performance.now();
  private acknowledge!: () => void;

  constructor(
    private readonly releaser: Releaser,
    private readonly over: Finished,
    private readonly retry: Retry,
    private readonly timing: Timing,
  ) {
    this.acknowledged = new Promise((resolve) => (this.acknowledge = resolve));
  }

  say(): void {
    this.releaser.sendRelease(this.over, this);
  }

  answered(answer: Answer): void {
    this.releaser.released(answer);
    this.acknowledge();
  }

  failed(failure: CommandFailure): void {
    const { retry, releaser, started, timing } = this;
    const repeat = (): Promise<Answer> => answerTo((hearer) => releaser.sendRelease(this.over, hearer));
    const repeated = retry.repeat(failure, repeat, started + timing.lease).then(
      (answer) => releaser.released(answer),
      () => releaser.released(undefined),
    );
    const left = started + timing.commandTimeout - performance.now();
    void retry.atMost(repeated, left).then(this.acknowledge);
  }
}
