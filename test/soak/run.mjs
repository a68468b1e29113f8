// Runs a TypeScript file of this folder without building it: `node test/soak/run.mjs main.ts --minutes 1`.
import { register } from 'node:module';

register('../simulation/ts-hooks.mjs', import.meta.url);
const [file, ...args] = process.argv.slice(2);
process.argv.splice(2, process.argv.length, ...args);
await import(new URL(file, import.meta.url).href);
