import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Installed as a package of bench, where there is one for this machine. */
const NODE_24 = fileURLToPath(new URL('../node_modules/node24/bin/node', import.meta.url));

/** The Nodes that applications run on: that of this run, and the newest line. @param {{ quick: boolean }} lab */
export function nodes({ quick }) {
  const present = [{ suffix: '', execPath: process.execPath }];
  if (!quick && existsSync(NODE_24)) present.push({ suffix: 'Node24', execPath: NODE_24 });
  return present;
}
