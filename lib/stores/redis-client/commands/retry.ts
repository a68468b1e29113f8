import type { CommandConnection } from './command-connection.js';
import type { Overdue } from './script.js';
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

  constructor(private readonly connection: CommandConnection) {}

  /** Whether the time until `deadline` (monotonic) is up, and the grace of the connection as well. */
  isOver(deadline: number): boolean {
    return performance.now() >= Math.max(deadline, this.connection.graceUntil);
  }

  /**
   * Sends an idempotent command until it is answered, or `deadline` (monotonic) and the grace of its connection have passed. It is sent again
   * only when its connection has broken, or the server has rejected it. While there is no connection it waits for one.
   *
   * @throws CommandFailure the last one, or the first that repeating cannot mend; its effect is unknown if that of any copy is unknown
   */
  until<T>(command: (overdue: Overdue) => Promise<T>, deadline: number, rule = whileItMayServe): Promise<T> {
    return new Promise((resolve, reject) => {
      const overdue = (failure: CommandFailure): void => {
        if (this.isOver(deadline)) reject(failure);
      };
      const send = (): Promise<T> => command(overdue);
      const answered = send().catch((error: unknown) => this.after(error, send, deadline, rule));
      answered.then(resolve, reject);
    });
  }

  /** As `until`, after a first attempt that failed with `error`; the copy that is under way at the deadline is awaited. */
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
      const { ready } = this.connection;
      if (ready) await this.closing.within(Math.min(pause, left));
      else await this.connection.whenReady(left);
      if (this.isOver(deadline) || this.closed) {
        // By now it may be known why there is no connection.
        const last = ready ? failure : this.connection.notSent();
        throw failure.effect === 'unknown' ? last.afterUnknown() : last;
      }
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
