/**
 * Fails if a package that this project names itself (a peer or a devDependency) is deprecated: `node tools/check-deprecated.mjs`.
 *
 * Reads what the registry said when package-lock.json was written. Not every registry says it, and a package may be deprecated
 * later: `--fresh` resolves package.json anew and reads that; the workflow of a release does so.
 */
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    package: { type: 'string', default: 'package.json' },
    lock: { type: 'string', default: 'package-lock.json' },
    fresh: { type: 'boolean', default: false },
  },
});
const { peerDependencies = {}, devDependencies = {} } = JSON.parse(readFileSync(values.package, 'utf8'));
const { packages } = values.fresh ? freshLock() : JSON.parse(readFileSync(values.lock, 'utf8'));
const names = [...new Set([...Object.keys(peerDependencies), ...Object.keys(devDependencies)])];
const problems = names.flatMap((name) => {
  const { version, deprecated } = packages[`node_modules/${name}`] ?? {};
  if (version === undefined) return [`${name} is in package.json, but not in the lock file.`];
  return deprecated ? [`${name} ${version} is deprecated: ${deprecated}`] : [];
});
if (problems.length > 0) {
  console.error(problems.join('\n'));
  process.exitCode = 1;
} else {
  console.log(`None of ${names.length} packages is deprecated.`);
}

function freshLock() {
  const folder = mkdtempSync(join(tmpdir(), 'fair-lock-deprecated-'));
  try {
    copyFileSync(values.package, join(folder, 'package.json'));
    const install = ['install', '--package-lock-only', '--ignore-scripts', '--no-audit', '--no-fund'];
    execFileSync('npm', install, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] });
    return JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8'));
  } finally {
    rmSync(folder, { recursive: true });
  }
}
