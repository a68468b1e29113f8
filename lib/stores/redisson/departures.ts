import { LockTimeoutError } from '../../core/errors.js';
import { takeOutLateCopies } from '../redis-client/late-copies.js';
import type { ClientContext } from './client-context.js';
import type { Answer } from './line-commands.js';
import type { LineOfRequests } from './requests-in-line.js';
import type { Waiter } from './waiter.js';

/** A caller whose wait ended hears who was in the way, if the server says so within this many ms. */
const LAST_WORDS = 100;

/** How requests get out of the line of one lock. */
export class Departures {
  constructor(
    private readonly line: LineOfRequests,
    private readonly context: ClientContext,
    /** It may be the turn of the waiter that Redis names so. */
    private readonly tell: (id: string) => void,
  ) {}

  /** Out of the line, and out of the lock if it was just given. Never rejects. */
  leave(waiter: Waiter): Promise<Answer | undefined> {
    const { commands, retry, timing } = this.context;
    const say = (): Promise<Answer> => {
      const sent = commands.leave(this.line.keys, waiter);
      waiter.leftOrder = commands.lastOrder;
      return sent;
    };
    return this.line.busy(async () => {
      const until = performance.now() + Math.max(timing.lease, timing.commandTimeout);
      // Without an answer its deadline in line ends it.
      const answer = await retry.until(say, until).catch(() => undefined);
      if (answer) this.tell(String(answer.details[0]));
      this.takeOutLateCopies(waiter);
      return answer;
    });
  }

  /** Out of the line because the wait is over: its caller hears who was in the way. */
  async timeOut(waiter: Waiter, waitTime: number): Promise<void> {
    const answer = await this.context.retry.atMost(this.leave(waiter), LAST_WORDS);
    const [, holder, ahead] = answer?.details ?? [];
    const place = Number(ahead) >= 0 ? { ahead: Number(ahead) } : {};
    const blockedBy = { ...this.blocker(holder), ...place };
    waiter.rejectSettled(new LockTimeoutError(this.line.key, waitTime, blockedBy));
  }

  takeOutLateCopies(waiter: Waiter): void {
    takeOutLateCopies(waiter, this.line, this.context.retry, async () => {
      if (!this.line.isHeldBy(waiter)) await this.leave(waiter);
    });
  }

  /** Who holds, for people; Redisson's name for it where it is not of this client. */
  blocker(id: string | number | undefined): { holder?: string; heldFor?: number } {
    if (id === undefined || id === '') return {};
    const known = this.line.describe(String(id));
    return known ? { holder: known.who, heldFor: performance.now() - known.since } : { holder: String(id) };
  }
}
