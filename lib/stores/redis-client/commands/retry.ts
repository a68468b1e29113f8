import type { CommandLink } from './link.js';
import { toCommandFailure, type CommandFailure } from '../server/server-failure.js';
import { Signal } from '../server/time-limit.js';

/** Pause before a rejected command is repeated, ms; doubled each time up to the longest. */
const FIRST_PAUSE = 10;
const LONGEST_PAUSE = 500;

/** After which failures a command is repeated. */
export type RetryRule = (failure: CommandFailure) => boolean;

/** For a command whose caller waits: a failure that only an operator can mend is reported immediately. */
const whileItMayServe: RetryRule = ({ retriable }) => retriable;
/** For giving back a grant or place, which other processes wait for: also repeated until an operator has mended the failure. */
export const untilGivenBack: RetryRule = ({ remedy }) => remedy !== 'none';

/** Repeats the commands of a client. Ends when the client closes, and does not keep the process alive. */
export class Retry {
  private readonly closing = new Signal();
  private closed = false;

  constructor(private readonly connection: Pick<CommandLink, 'ready' | 'whenReady' | 'graceUntil'>) {}

  /**
   * Repeats an idempotent command until it is answered or `deadline` (monotonic) and the grace of its connection have passed. While there is
   * no connection it waits for one.
   *
   * @throws CommandFailure the last one, or the first that repeating cannot mend; its effect is unknown if that of any copy is unknown
   */
  until<T>(command: () => Promise<T>, deadline: number): Promise<T> {
    return command().catch((error: unknown) => this.after(error, command, deadline));
  }

  /** As `until`, after a first attempt that failed with `error`. */
  async after<T>(
    error: unknown,
    command: () => Promise<T>,
    deadline: number,
    rule = whileItMayServe,
  ): Promise<T> {
    let failure = toCommandFailure(error);
    for (let pause = FIRST_PAUSE; ; pause = Math.min(2 * pause, LONGEST_PAUSE)) {
      const until = Math.max(deadline, this.connection.graceUntil);
      const left = until - performance.now();
      if (!rule(failure) || left <= 0) throw failure;
      if (this.connection.ready) await this.closing.within(Math.min(pause, left));
      else await this.connection.whenReady(left);
      if (performance.now() >= until || this.closed) throw failure;
      try {
        return await command();
      } catch (next) {
        const { effect } = failure;
        failure = toCommandFailure(next);
        if (effect === 'unknown') failure = failure.afterUnknown();
      }
    }
  }

  close(): void {
    this.closed = true;
    this.closing.fire();
  }
}
