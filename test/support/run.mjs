// Runs a TypeScript file without building it: `node test/support/run.mjs test/simulation/main.ts --seeds 100`.
import { register } from 'node:module';

register('./ts-hooks.mjs', import.meta.url);
const [file] = process.argv.splice(2, 1);
await import(new URL(`../../${file}`, import.meta.url).href);
