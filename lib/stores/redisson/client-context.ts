import type { LineContext } from '../redis-client/line-driver.js';
import type { LockCommands } from './commands/lock-commands.js';
import type { Timing } from './timing.js';
import type { WakeUps } from './wake-ups.js';

/** What all lines of one client share. */
export interface ClientContext extends LineContext {
  readonly commands: LockCommands;
  readonly wakeUps: WakeUps;
  readonly timing: Timing;
  /** host/pid */
  readonly where: string;
  readonly onWarning: (message: string) => void;
}
