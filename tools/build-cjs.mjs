/** The CommonJS half of the package: `dist/cjs`, marked as CommonJS inside a package of type `module`. The other half is type-checked. */
import { spawnSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';

rmSync('dist/cjs', { recursive: true, force: true });
const tsc = spawnSync(
  process.execPath,
  ['node_modules/typescript/bin/tsc', '-p', 'lib/tsconfig.cjs.json', '--noCheck'],
  {
    stdio: 'inherit',
  },
);
if (tsc.status !== 0) process.exit(tsc.status ?? 1);
writeFileSync('dist/cjs/package.json', `${JSON.stringify({ type: 'commonjs' })}\n`);
