/** What has to be there before anything is measured: what this package is compared with, and its builds, as npm would install them. */
import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

const HERE = import.meta.dirname;
const ROOT = join(HERE, '..');
/** npm writes it at the end of an installation. */
const INSTALLED = join(HERE, 'node_modules/.package-lock.json');

const run = promisify(execFile);

/** @param {{ before?: string, print: (text: string) => void }} options `before`: a tarball of another version of this package */
export async function prepare({ before, print }) {
  if (!existsSync(INSTALLED) || changed(INSTALLED) < changed(join(HERE, 'package-lock.json'))) {
    print('installing the libraries to compare …');
    await run('npm', ['ci', '--no-audit', '--no-fund'], { cwd: HERE });
  }
  const built = join(ROOT, JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).main);
  const sources = readdirSync(join(ROOT, 'lib'), { recursive: true }).map((file) => join(ROOT, 'lib', file));
  if (!existsSync(built) || changed(built) < Math.max(...sources.map(changed))) {
    print('building the package …');
    await run('npm', ['run', 'build'], { cwd: ROOT });
  }
  const ours = emptyFolder('fair-lock-ours');
  for (const part of ['package.json', 'dist'])
    cpSync(join(ROOT, part), join(ours, part), { recursive: true });
  if (before === undefined) return;
  const options = ['-xzf', resolve(before), '--strip-components=1', '-C', emptyFolder('fair-lock-before')];
  await run('tar', options);
}

/** Where `import('fair-lock-ours')` finds it, and where it finds the Nest and the ioredis of all others. */
function emptyFolder(name) {
  const folder = join(HERE, 'node_modules', name);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  return folder;
}

function changed(file) {
  return statSync(file).mtimeMs;
}
