import type { Watchdog } from '../../core/watchdog.js';
import type { CommandConnection } from '../redis-connection/command-connection.js';
import type { Subscriber } from '../redis-connection/subscriber.js';
import { insist } from './insist.js';
import type { LineCommands } from './line-commands.js';
import type { SubscriptionCheck } from './subscription-check.js';
import type { Timing } from './timing.js';

/** How much of a label is kept in Redis. */
const LONGEST_LABEL = 128;

/** What all lines of one client share. */
export class ClientContext {
  private readonly delays = new Set<() => void>();
  private closing = false;

  constructor(
    readonly commands: LineCommands,
    readonly connection: CommandConnection,
    readonly subscriber: Subscriber,
    readonly subscriptionCheck: SubscriptionCheck,
    readonly watchdog: Watchdog,
    readonly timing: Timing,
    private readonly where: string,
  ) {}

  /** Who holds, for people: `web-1/4711/OrdersService.pay`. */
  describe(label: string): string {
    return `${this.where}/${label.slice(0, LONGEST_LABEL)}`;
  }

  /** See `insist`; gives up early when the client closes. */
  insist<T>(command: () => Promise<T>, deadline: number): Promise<T> {
    return insist(this.connection, command, deadline, () => this.closing);
  }

  /** The result, or undefined after `limit` ms. `promise` must not reject. */
  atMost<T>(promise: Promise<T>, limit: number): Promise<T | undefined> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, limit, undefined);
      void promise.then((value) => {
        clearTimeout(timer);
        resolve(value);
      });
    });
  }

  /** Runs `task` in `delay` ms, unless the client closes before. Does not keep the process alive. */
  later(delay: number, task: () => void): void {
    void this.delay(delay).then(() => {
      if (!this.closing) task();
    });
  }

  /** Resolves in `delay` ms, or when the client closes. Does not keep the process alive. */
  delay(delay: number): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        this.delays.delete(done);
        resolve();
      };
      const timer = setTimeout(done, Math.max(0, delay)).unref();
      this.delays.add(done);
    });
  }

  close(): void {
    this.closing = true;
    for (const done of this.delays) done();
  }
}
