import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The newer lines, each installed as a package of bench where there is one for this machine. */
export const NEWER = [24, 26];

/** The Nodes that applications run on: the one of this run, and the newer lines. @param {{ quick: boolean }} lab */
export function nodes({ quick }) {
  const present = [{ suffix: '', execPath: process.execPath }];
  for (const line of quick ? [] : NEWER) {
    const execPath = fileURLToPath(new URL(`../node_modules/node${line}/bin/node`, import.meta.url));
    if (existsSync(execPath)) present.push({ suffix: `Node${line}`, execPath });
  }
  return present;
}
