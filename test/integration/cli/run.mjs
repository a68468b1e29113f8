// The command line of the sources, as a process: `node run.mjs <arguments>`.
import { register } from 'node:module';

register('../../simulation/ts-hooks.mjs', import.meta.url);
await import('../../../lib/cli/main.ts');
