import type { Watchdog } from '../../core/watchdog.js';
import type { Subscriber } from '../redis-client/subscriber.js';
import type { LockCommands } from './commands/lock-commands.js';
import type { Replication } from './replication.js';
import type { SubscriptionCheck } from './subscription-check.js';
import type { Timing } from './timing.js';

/** How much of a label is kept in Redis. */
const LONGEST_LABEL = 128;

/** What all lines of one client share. */
export interface ClientContext {
  readonly commands: LockCommands;
  readonly subscriber: Subscriber;
  readonly subscriptionCheck: SubscriptionCheck;
  readonly watchdog: Watchdog;
  /** Where a grant counts only when replicas have it; undefined: at once. */
  readonly replication: Replication | undefined;
  readonly timing: Timing;
  /** host/pid */
  readonly where: string;
}

/** Who holds, for people: `web-1/4711/OrdersService.pay`. */
export function describe({ where }: ClientContext, label: string): string {
  return `${where}/${label.slice(0, LONGEST_LABEL)}`;
}
