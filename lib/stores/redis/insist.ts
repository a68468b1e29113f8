import type { CommandConnection } from '../redis-connection/command-connection.js';
import { toCommandFailure } from '../redis-connection/server-failure.js';

/** Pause before a refused command is repeated, ms; doubled each time up to the longest. */
const FIRST_PAUSE = 10;
const LONGEST_PAUSE = 500;

/**
 * Repeats an idempotent command until it is answered or `deadline` (monotonic) has passed (R13).
 *
 * While there is no connection it waits for one rather than ask in vain.
 * @throws CommandFailure the last one, or the first that repeating cannot mend
 */
export async function insist<T>(
  connection: CommandConnection,
  command: () => Promise<T>,
  deadline: number,
  abandoned: () => boolean,
): Promise<T> {
  for (let pause = FIRST_PAUSE; ; pause = Math.min(2 * pause, LONGEST_PAUSE)) {
    try {
      return await command();
    } catch (error) {
      const failure = toCommandFailure(error);
      const left = deadline - performance.now();
      if (!failure.retriable || left <= 0 || abandoned()) throw failure;
      if (connection.ready) await delay(Math.min(pause, left));
      else await connection.whenReady(left);
      if (performance.now() >= deadline) throw failure;
    }
  }
}

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}
