/** Gives the programs of the package their run bit, so that they run also in a clone, where no installation does it. */
import { chmodSync, readFileSync } from 'node:fs';

const { bin } = JSON.parse(readFileSync('package.json', 'utf8'));
for (const program of Object.values(bin)) chmodSync(program, 0o755);
