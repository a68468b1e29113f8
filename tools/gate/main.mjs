/** `node tools/gate/main.mjs <file of steps>`: the exit status is 0 if nothing failed. */
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { runGate } from './run-gate.mjs';

const { default: plan } = await import(pathToFileURL(resolve(process.argv[2])).href);
process.exitCode = (await runGate(plan)) ? 0 : 1;
