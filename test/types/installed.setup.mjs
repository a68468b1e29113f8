import { execFileSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';

const HERE = import.meta.dirname;
/** npm writes it at the end of an installation. */
const INSTALLED = join(HERE, 'node_modules', '.package-lock.json');

/** The compilers, which cannot be installed beside the one that builds: each of them would be the `tsc` of the package. */
export default function setup() {
  const isNew =
    existsSync(INSTALLED) && statSync(INSTALLED).mtimeMs >= statSync(join(HERE, 'package-lock.json')).mtimeMs;
  if (!isNew) execFileSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: HERE, stdio: 'ignore' });
}
