#!/usr/bin/env node
import { EXIT } from './call/exit-status.js';
import { printError, run } from './run.js';

const { stdout, stderr } = process;
const ended = new AbortController();
stderr.on('error', () => undefined); // the status says it as well
stdout.on('error', (error: NodeJS.ErrnoException) => {
  ended.abort();
  if (error.code === 'EPIPE') return; // `head` has read enough
  printError({ stderr }, `The output cannot be written: ${error.message}`);
  process.exitCode = EXIT.noOutput;
});
// Other commands have nothing to clean up, so the default signal handling ends them.
if (process.argv.includes('watch'))
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => ended.abort());

const status = await run(process.argv.slice(2), { stdout, stderr, signal: ended.signal });
process.exitCode ??= status;
