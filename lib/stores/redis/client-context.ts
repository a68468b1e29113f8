import type { Watchdog } from '../../core/watchdog.js';
import type { Retry } from '../redis-client/retry.js';
import type { Subscriber } from '../redis-client/subscriber.js';
import type { ChangedLines } from './changed-lines.js';
import type { LineCommands } from './line-commands.js';
import type { Replication } from './replication.js';
import type { SubscriptionCheck } from './subscription-check.js';
import type { Timing } from './timing.js';

/** How much of a label is kept in Redis. */
const LONGEST_LABEL = 128;

/** What all lines of one client share. */
export interface ClientContext {
  readonly commands: LineCommands;
  readonly retry: Retry;
  readonly subscriber: Subscriber;
  readonly subscriptionCheck: SubscriptionCheck;
  readonly watchdog: Watchdog;
  readonly changedLines: ChangedLines;
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
