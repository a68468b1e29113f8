import { LARGEST_NUMBER } from '../../../core/options/option-domains.js';
import { commandTimeout } from './server-failure.js';

/**
 * Calls `late` after `limit` ms; after Node's longest timer if that is infinite. In a process that stood still, timers run before the sockets
 * are read: what has arrived meanwhile comes first.
 */
export function after(limit: number, late: () => void): NodeJS.Timeout {
  return setTimeout(() => setImmediate(late), Math.min(Math.ceil(limit), LARGEST_NUMBER));
}

/** What `promise` resolves with, or undefined after `limit` ms. */
export async function atMost<T>(promise: Promise<T>, limit: number): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<undefined>((resolve) => {
    timer = after(limit, () => resolve(undefined));
  });
  try {
    return await Promise.race([promise, timeout]);
  } finally {
    clearTimeout(timer);
  }
}

/** @throws CommandFailure after `limit` ms */
export async function within<T>(command: Promise<T>, limit: number): Promise<T> {
  const outcome = await atMost(
    command.then((answer) => ({ answer })),
    limit,
  );
  if (!outcome) throw commandTimeout(limit);
  return outcome.answer;
}

/** An event to wait for. Waiting does not keep the process alive. */
export class Signal {
  private readonly waits = new Set<(happened: boolean) => void>();

  /** Whether it happens within `limit` ms. */
  within(limit: number): Promise<boolean> {
    return new Promise((resolve) => {
      const end = (happened: boolean): void => {
        clearTimeout(timer);
        this.waits.delete(end);
        resolve(happened);
      };
      const timer = after(limit, () => end(false)).unref();
      this.waits.add(end);
    });
  }

  fire(): void {
    for (const end of this.waits) end(true);
  }
}
