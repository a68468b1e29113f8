import { existsSync, readdirSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const LIB = join(ROOT, 'lib');
const DIST = join(ROOT, 'dist/esm');
let isChecked = false;

/**
 * The ES modules of the built package, for programs that run it as an application does; another build can be put in its place.
 *
 * @throws Error if there is none, or if lib has changed since it was built
 */
export function builtPackage(): string {
  const other = process.env['FAIR_LOCK_DIST'];
  const folder = other === undefined ? DIST : resolve(ROOT, other);
  if (!existsSync(join(folder, 'index.js'))) {
    throw new Error(`This test runs the built package, and there is none in ${folder}: run "npm run build".`);
  }
  if (other === undefined && !isChecked && isOutdated()) {
    throw new Error(
      'This test runs the built package, and lib has changed since it was built: run "npm run build".',
    );
  }
  isChecked = true;
  return folder;
}

function isOutdated(): boolean {
  const built = statSync(join(DIST, 'index.js')).mtimeMs;
  const sources = readdirSync(LIB, { recursive: true, encoding: 'utf8' });
  return sources.some((file) => /\.(ts|lua)$/.test(file) && statSync(join(LIB, file)).mtimeMs > built);
}
