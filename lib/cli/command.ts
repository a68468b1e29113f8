import { type Arguments } from './arguments.js';
import { type ExitStatus } from './exit-status.js';
import { type Locks } from './locks.js';

/** What a command works with. */
export interface CommandContext {
  readonly locks: Locks;
  readonly args: Arguments;
  /** One piece of text on stdout. */
  readonly print: (text: string) => void;
  /** Aborts when the user ends the command. */
  readonly signal: AbortSignal;
}

export type Command = (context: CommandContext) => Promise<ExitStatus>;
