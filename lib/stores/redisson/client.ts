import type { Wait } from '../../core/port/wait.js';
import type { Timers } from '../../core/runtime/timers.js';
import type { RedissonCommands } from './commands.js';
import type { WakeUps } from './wake-ups.js';

export interface RedissonOptions {
  /** Milliseconds for which Redis keeps a grant that its holder does not renew. Redisson's name and default: 30,000. */
  readonly lockWatchdogTimeout: number;
  /**
   * Milliseconds after which a waiter without a wait time counts as dead once it is the first in the queue. Must be the same in Java.
   * Redisson's name and default: 300,000.
   */
  readonly fairLockWaitTimeout: number;
  /** Milliseconds within which a command must be answered. */
  readonly commandTimeout: number;
  /** Called with warnings for the operator; they never contain credentials. */
  readonly onWarning: (message: string) => void;
}

/** What all locks of one client share. */
export interface Client {
  readonly options: RedissonOptions;
  readonly commands: RedissonCommands;
  readonly wakeUps: WakeUps;
  readonly timers: Timers;
  /** host/pid */
  readonly where: string;
  /** The error of a wait that has ended because Redis does not respond; undefined: because the lock was busy. */
  readonly silenceOf: (wait: Wait, isPlaced: boolean) => Error | undefined;
  /** A script has woken the head of a queue: a request of this client asks without waiting for the message. */
  readonly wake: (id: string | undefined) => void;
}
