import type { Watchdog } from '../../core/watchdog.js';
import type { LockCommands } from './commands/lock-commands.js';
import type { Timing } from './timing.js';
import type { WakeUps } from './wake-ups.js';

/** What all lines of one client share. */
export interface ClientContext {
  readonly commands: LockCommands;
  readonly wakeUps: WakeUps;
  readonly watchdog: Watchdog;
  readonly timing: Timing;
  readonly onWarning: (message: string) => void;
}
