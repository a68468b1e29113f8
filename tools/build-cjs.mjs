/** The CommonJS half of the package: `dist/cjs`, marked as CommonJS inside a package of type `module`. The other half is type-checked. */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';

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

// A module that held only types is imported by no other: it is left out of both formats.
for (const file of readdirSync('dist/esm', { recursive: true })) {
  if (!file.endsWith('.js') || readFileSync(`dist/esm/${file}`, 'utf8').trim() !== 'export {};') continue;
  rmSync(`dist/esm/${file}`);
  rmSync(`dist/cjs/${file}`, { force: true });
}

// The page of the board is packed once: ES modules read it from the other half, which every loader can.
writeFileSync(
  'dist/esm/board/page.generated.js',
  "export { page } from '../../cjs/board/page.generated.js';\n",
);
