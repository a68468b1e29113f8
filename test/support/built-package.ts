import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const LIB = join(ROOT, 'lib');
const DIST = join(ROOT, 'dist/esm');
let isChecked = false;

/**
 * The ES modules of the built package, for programs that run it as an application does.
 *
 * @throws Error if there is none, or if lib has changed since it was built
 */
export function builtPackage(): string {
  if (isChecked) return DIST;
  if (!existsSync(join(DIST, 'index.js'))) {
    throw new Error(`This test runs the built package, and there is none in ${DIST}: run "npm run build".`);
  }
  if (isOutdated()) {
    throw new Error(
      'This test runs the built package, and lib has changed since it was built: run "npm run build".',
    );
  }
  isChecked = true;
  return DIST;
}

function isOutdated(): boolean {
  const built = statSync(join(DIST, 'index.js')).mtimeMs;
  const sources = readdirSync(LIB, { recursive: true, encoding: 'utf8' });
  return sources.some((file) => /\.(ts|lua)$/.test(file) && statSync(join(LIB, file)).mtimeMs > built);
}
