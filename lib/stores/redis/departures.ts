import { LockTimeoutError } from '../../core/errors.js';
import { takeOutLateCopies } from '../redis-client/late-copies.js';
import type { Answer } from './answer.js';
import type { ClientContext } from './client-context.js';
import type { LineOfRequests } from './requests-in-line.js';
import type { Waiter } from './waiter.js';

/** A caller whose wait ended hears who was in the way, if the server says so within this many ms. */
const LAST_WORDS = 100;

/** How requests get out of the line of one lock. */
export class Departures {
  constructor(
    /** Those of this client that are still in line. */
    private readonly requests: { readonly size: number },
    private readonly line: LineOfRequests,
    private readonly context: ClientContext,
  ) {}

  /**
   * Out of the line. If the answer names a grant in which nobody waits or works any more, `take` hands it on (M3).
   * Never rejects.
   */
  leave(waiter: Waiter): Promise<Answer | undefined> {
    const { commands, retry, timing } = this.context;
    const say = (): Promise<Answer> => {
      const sent = commands.leave(this.line.keys, waiter, this.requests.size > 0);
      waiter.leftOrder = commands.lastOrder;
      return sent;
    };
    return this.line.busy(async () => {
      const until = performance.now() + Math.max(timing.window, 2 * timing.commandTimeout);
      // Without an answer the liveness window ends it.
      const answer = await retry.until(say, until).catch(() => undefined);
      if (answer) this.line.take(answer);
      this.takeOutLateCopies(waiter);
      return answer;
    });
  }

  /** Out of the line because the wait is over: its caller hears who was in the way. */
  async timeOut(waiter: Waiter, { key, waitTime }: LockTimeoutError): Promise<void> {
    const answer = await this.context.retry.atMost(this.leave(waiter), LAST_WORDS);
    const [label, heldFor, ahead] = answer?.details ?? [];
    const place = Number(ahead) >= 0 ? { ahead: Number(ahead) } : {};
    waiter.rejectSettled(new LockTimeoutError(key, waitTime, { ...blocker(label, heldFor), ...place }));
  }

  takeOutLateCopies(waiter: Waiter): void {
    takeOutLateCopies(waiter, this.line, this.context.retry, () => this.leave(waiter));
  }
}

/** Who was in the way, as Redis tells it. */
export function blocker(label: unknown, heldFor: unknown): { holder?: string; heldFor?: number } {
  return typeof label === 'string' && label !== '' ? { holder: label, heldFor: Number(heldFor) } : {};
}
