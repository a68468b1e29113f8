#!/usr/bin/env node
import {
  LockConfigurationError,
  LockKeyError,
  LockStoreUnavailableError,
  sentenceOf,
} from '../core/errors/errors.js';
import { printable } from '../core/errors/text.js';
import { VERSION } from '../core/runtime/version.js';
import { type Arguments, type CommandName, readArguments } from './call/arguments.js';
import { type Command } from './call/command.js';
import { doctor } from './commands/doctor.js';
import { forceRelease } from './commands/force-release.js';
import { graph } from './commands/graph.js';
import { inspect } from './commands/inspect.js';
import { ls } from './commands/ls.js';
import { watch } from './commands/watch.js';
import { EXIT, type ExitStatus, UsageError } from './call/exit-status.js';
import { HELP } from './help.js';
import { Locks } from './call/locks.js';

const COMMANDS: Record<CommandName, Command> = {
  ls,
  inspect,
  graph,
  watch,
  'force-release': forceRelease,
  doctor,
};

/** JSON escapes only some of the control characters that a terminal obeys. */
const print = (output: string | object) =>
  void process.stdout.write(`${typeof output === 'string' ? output : printable(JSON.stringify(output))}\n`);
const printError = (text: string) => void process.stderr.write(`nestjs-fair-lock: ${printable(text)}\n`);
const ended = new AbortController();
process.stderr.on('error', () => undefined); // the status says it as well
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  ended.abort();
  if (error.code === 'EPIPE') return; // `head` has read enough
  printError(`The output cannot be written: ${error.message}`);
  process.exitCode = EXIT.noOutput;
});

const status = await run(process.argv.slice(2));
process.exitCode ??= status;

async function run(argv: readonly string[]): Promise<ExitStatus> {
  try {
    const args = readArguments(argv);
    if (args.command === 'help') process.stdout.write(HELP);
    else if (args.command === 'version') print(VERSION);
    else return await runCommand(args, COMMANDS[args.command]);
    return EXIT.done;
  } catch (error) {
    return explain(error);
  }
}

async function runCommand(args: Arguments, command: Command): Promise<ExitStatus> {
  // Other commands have nothing to clean up, so the default signal handling ends them.
  if (args.command === 'watch')
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => ended.abort());
  try {
    return await withLocks(args, command);
  } catch (error) {
    if (args.json) print({ error: sentenceOf(error) });
    throw error;
  }
}

async function withLocks(args: Arguments, command: Command): Promise<ExitStatus> {
  const locks = new Locks(args);
  try {
    await locks.start();
    const status = await command({ locks, args, print, signal: ended.signal });
    if (args.command !== 'doctor') locks.warnings.forEach(printError);
    return status;
  } catch (error) {
    if (!(error instanceof LockStoreUnavailableError)) throw error;
    if (error.failure !== 'unreachable') locks.warnings.forEach(printError);
    throw new Error(unavailable(error, locks, args), { cause: error });
  } finally {
    await locks.close();
  }
}

/** Explains why there is no connection, by the warnings that were given while connecting. */
function unavailable(
  { reason, failure, cause }: LockStoreUnavailableError,
  { warnings }: Locks,
  { cluster }: Arguments,
): string {
  const seen = failure === 'unreachable' ? warnings[0]?.replace(/\. .*/s, '.') : undefined;
  const refusal = failure === 'not-permitted' && cause instanceof Error ? ` ${cause.message}.` : '';
  const mode = cluster ? ', and that it is a node of a Redis Cluster (--cluster)' : '';
  return `${seen ?? reason}${refusal} Nothing was changed. Check --redis (or REDIS_URL)${mode}.`;
}

/** Prints an error as one sentence without a stack, and returns the exit status. */
function explain(error: unknown): ExitStatus {
  if (
    error instanceof UsageError ||
    error instanceof LockConfigurationError ||
    error instanceof LockKeyError
  ) {
    printError(sentenceOf(error));
    printError('--help lists commands and options.');
    return EXIT.usage;
  }
  printError(sentenceOf(error));
  return EXIT.unavailable;
}
