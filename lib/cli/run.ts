import {
  LockConfigurationError,
  LockKeyError,
  LockStoreUnavailableError,
  sentenceOf,
  UnknownOutcomeError,
} from '../core/errors/errors.js';
import { printable } from '../core/errors/text.js';
import { VERSION } from '../core/runtime/version.js';
import { type Arguments, type CommandName, readArguments } from './call/arguments.js';
import { type Command } from './call/command.js';
import { doctor } from './commands/doctor.js';
import { forceRelease } from './commands/force-release.js';
import { inspect } from './commands/inspect.js';
import { ls } from './commands/ls.js';
import { watch } from './commands/watch.js';
import { EXIT, type ExitStatus, UsageError } from './call/exit-status.js';
import { HELP } from './help.js';
import { Locks } from './call/locks.js';

const COMMANDS: Record<CommandName, Command> = {
  ls,
  inspect,
  watch,
  'force-release': forceRelease,
  doctor,
};

/** Where a call of the command line writes. */
export interface Terminal {
  readonly stdout: { write(text: string): unknown; isTTY?: boolean; columns?: number; rows?: number };
  readonly stderr: { write(text: string): unknown; isTTY?: boolean };
  /** Aborts when nobody reads the output any more, or the user ends the command. */
  readonly signal: AbortSignal;
}

/** Never rejects. */
export async function run(argv: readonly string[], terminal: Terminal): Promise<ExitStatus> {
  try {
    const args = readArguments(argv);
    if (args === 'help') terminal.stdout.write(HELP);
    else if (args === 'version') terminal.stdout.write(`${VERSION}\n`);
    else return await runCommand(args, COMMANDS[args.command], terminal);
    return EXIT.done;
  } catch (error) {
    return explain(error, terminal);
  }
}

async function runCommand(args: Arguments, command: Command, terminal: Terminal): Promise<ExitStatus> {
  const { stdout, signal } = terminal;
  const print = (output: string | object, before = '') => write(stdout, output, before);
  const warn = (text: string) => printError(terminal, text);
  const { columns = 0, rows = 0 } = stdout;
  const screen = stdout.isTTY ? { columns, rows } : undefined;
  let locks: Locks | undefined;
  try {
    locks = new Locks(args, terminal.stderr.isTTY ? warn : () => undefined);
    await locks.engine.start();
    const status = await command({ locks, args, print, screen, signal });
    if (args.command !== 'doctor') locks.warnings.forEach(warn);
    return status;
  } catch (error) {
    let shown = error;
    if (locks && error instanceof LockStoreUnavailableError) {
      shown = unavailable(error, locks, args);
      if (error.failure !== 'unreachable') locks.warnings.forEach(warn);
    }
    if (args.json) print({ error: sentenceOf(shown) });
    throw shown;
  } finally {
    await locks?.engine.close();
  }
}

/**
 * Writes all that a command says, line by line, so that no name from outside reaches the terminal as a control character.
 *
 * @param output a text, or a value as JSON, which escapes only some of the characters that a terminal obeys
 * @param before what the program itself tells the terminal
 */
function write(to: { write(text: string): unknown }, output: string | object, before = ''): void {
  const text = typeof output === 'string' ? output : JSON.stringify(output);
  to.write(`${before}${text.split('\n').map(printable).join('\n')}\n`);
}

export function printError({ stderr }: Pick<Terminal, 'stderr'>, text: string): void {
  // An error is one line, whatever it quotes.
  write(stderr, `nestjs-fair-lock: ${printable(text)}`);
}

/** Explains why there is no connection, by the warnings that were given while connecting. */
function unavailable(error: LockStoreUnavailableError, { warnings }: Locks, args: Arguments): Error {
  const { reason, failure, cause } = error;
  const isUnknown = error instanceof UnknownOutcomeError;
  const seen = failure === 'unreachable' && !isUnknown ? warnings[0]?.replace(/\. .*/s, '.') : undefined;
  const refusal = failure === 'not-permitted' && cause instanceof Error ? ` ${cause.message}.` : '';
  // Only this command changes something.
  const unchanged = args.command === 'force-release' && !isUnknown ? ' Nothing was changed.' : '';
  const closed = /\bECONNREFUSED\b/.test(seen ?? reason) ? ' Nothing listens there.' : '';
  const mode = args.cluster ? ', and that it is a node of a Redis Cluster (--cluster)' : '';
  const text = `${seen ?? reason}${closed}${refusal}${unchanged} Check --redis (or REDIS_URL)${mode}.`;
  return new Error(text, { cause: error });
}

/** Prints an error as one sentence without a stack, and returns the exit status. */
function explain(error: unknown, terminal: Terminal): ExitStatus {
  printError(terminal, sentenceOf(error));
  const mistakes = [UsageError, LockConfigurationError, LockKeyError];
  if (!mistakes.some((mistake) => error instanceof mistake)) return EXIT.unavailable;
  printError(terminal, '--help lists commands and options.');
  return EXIT.usage;
}
