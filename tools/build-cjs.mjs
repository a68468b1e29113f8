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

// Generated texts (the Lua scripts, the page of the board) are packed once: ES modules read them from the other half, which every
// loader can.
for (const file of readdirSync('dist/esm', { recursive: true })) {
  if (!file.endsWith('.generated.js')) continue;
  const names = [...readFileSync(`dist/esm/${file}`, 'utf8').matchAll(/^export const (\w+)/gm)].map(
    ([, name]) => name,
  );
  const other = `${'../'.repeat(file.split('/').length)}cjs/${file}`;
  writeFileSync(`dist/esm/${file}`, `export { ${names.join(', ')} } from '${other}';\n`);
}
