import type { Watchdog } from '../../core/watchdog.js';
import type { Retry } from '../redis-client/retry.js';
import type { LineCommands } from './line-commands.js';
import type { Timing } from './timing.js';
import type { WakeUps } from './wake-ups.js';

/** What all lines of one client share. */
export interface ClientContext {
  readonly commands: LineCommands;
  readonly wakeUps: WakeUps;
  readonly retry: Retry;
  readonly watchdog: Watchdog;
  readonly timing: Timing;
  /** The uuid by which Redisson knows this client. */
  readonly uuid: string;
  readonly where: string;
  readonly onWarning: (message: string) => void;
}
