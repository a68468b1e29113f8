import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const FIXTURES = fileURLToPath(new URL('fixtures/', import.meta.url));
/** Inside the repository, so that the package finds its peer dependencies here. */
const UNPACKED = fileURLToPath(new URL('programs/', import.meta.url));

/** Unpacks a tarball of an earlier version; returns the folder of its ES modules. */
export function unpack(name: string): string {
  const folder = join(UNPACKED, name);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const { status, stderr } = spawnSync('tar', ['-xzf', join(FIXTURES, `${name}.tgz`), '-C', folder]);
  if (status !== 0) throw new Error(`${name}.tgz could not be unpacked: ${String(stderr)}`);
  return join(folder, 'package', 'dist', 'esm');
}
