import type { LineContext } from '../redis-client/line-driver.js';
import type { Subscriber } from '../redis-client/subscriber.js';
import type { LockCommands } from './commands/lock-commands.js';
import type { Replication } from './replication.js';
import type { SubscriptionCheck } from './subscription-check.js';
import type { Timing } from './timing.js';

/** What all lines of one client share. */
export interface ClientContext extends LineContext {
  readonly commands: LockCommands;
  readonly subscriber: Subscriber;
  readonly subscriptionCheck: SubscriptionCheck;
  /** Where a grant counts only when replicas have it; undefined: at once. */
  readonly replication: Replication | undefined;
  readonly timing: Timing;
  /** host/pid */
  readonly where: string;
}
