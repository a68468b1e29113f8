// Runs a TypeScript file of the sources as a process: `node run.mjs <file> <arguments>`.
import { register } from 'node:module';

register('../../simulation/ts-hooks.mjs', import.meta.url);
const [file, ...args] = process.argv.slice(2);
process.argv.splice(2, process.argv.length, ...args);
await import(new URL(file, import.meta.url).href);
