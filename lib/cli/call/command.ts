import { type Arguments } from './arguments.js';
import { type ExitStatus } from './exit-status.js';
import { type Locks } from './locks.js';

/** The parameters of a command. */
export interface CommandContext {
  readonly locks: Locks;
  readonly args: Arguments;
  /** Writes a text to stdout, or a value as JSON. `before`: what it tells the terminal first. */
  readonly print: (output: string | object, before?: string) => void;
  /** The size of the terminal that shows the output; undefined: none does. */
  readonly screen: { readonly columns: number; readonly rows: number } | undefined;
  /** Aborts when the user ends the command. */
  readonly signal: AbortSignal;
}

export type Command = (context: CommandContext) => Promise<ExitStatus>;
