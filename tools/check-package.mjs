/** Packs the package and lets publint and attw look at the very tarball that would be published. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const folder = mkdtempSync(join(tmpdir(), 'fair-lock-pack-'));

const run = (command, ...args) => {
  const { status } = spawnSync(command, args, { stdio: 'inherit' });
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} failed`);
};

try {
  run('npm', 'pack', '--silent', '--pack-destination', folder); // `prepack` builds first
  const tarball = join(folder, readdirSync(folder)[0]);
  run('npx', 'publint', 'run', tarball, '--strict');
  run('npx', 'attw', tarball);
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
