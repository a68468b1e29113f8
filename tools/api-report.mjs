/**
 * The public types of each entry of the package, as `npm run build` found them, beside those that are committed in `api/`.
 *
 *     node tools/api-report.mjs            fails if they differ
 *     node tools/api-report.mjs --accept   commits to them: writes `api/` anew (`npm run api` builds first)
 */
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');
const FOUND = join('reports', 'api');

if (!existsSync(join(ROOT, FOUND))) {
  console.error(`There is no ${FOUND}: run "npm run build" first.`);
  process.exit(1);
}

if (process.argv.includes('--accept')) {
  rmSync(join(ROOT, 'api'), { recursive: true, force: true });
  cpSync(join(ROOT, FOUND), join(ROOT, 'api'), { recursive: true });
} else {
  const diff = spawnSync('git', ['diff', '--no-index', '--exit-code', '--', 'api', FOUND], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  if (diff.status !== 0) {
    console.error(diff.stdout + diff.stderr);
    console.error(
      'The public types have changed. If that is intended, run "npm run api", commit api/, and write the change into CHANGELOG.md.',
    );
    process.exit(1);
  }
}
