import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from './pages.js';

describe('check-deprecated', () => {
  const folder = mkdtempSync(join(tmpdir(), 'fair-lock-deprecated-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  function check(packages: object): { status: number | null; output: string } {
    const files = { package: join(folder, 'package.json'), lock: join(folder, 'package-lock.json') };
    const manifest = { peerDependencies: { peer: '^1.0.0' }, devDependencies: { tool: '2.0.0' } };
    writeFileSync(files.package, JSON.stringify(manifest));
    writeFileSync(files.lock, JSON.stringify({ packages }));
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      ['tools/check-deprecated.mjs', '--package', files.package, '--lock', files.lock],
      { cwd: ROOT, encoding: 'utf8' },
    );
    return { status, output: stdout + stderr };
  }

  test('accepts peers and devDependencies that are not deprecated', () => {
    const packages = {
      'node_modules/peer': { version: '1.2.3' },
      'node_modules/tool': { version: '2.0.0' },
      'node_modules/of-the-tool': { version: '0.1.0', deprecated: 'No longer supported.' },
    };
    expect(check(packages)).toEqual({ status: 0, output: 'None of 2 packages is deprecated.\n' });
  });

  test('refuses a peer or a devDependency that is deprecated, with the reason', () => {
    const packages = {
      'node_modules/peer': { version: '1.2.3', deprecated: 'Use another one.' },
      'node_modules/tool': { version: '2.0.0', deprecated: 'No longer supported.' },
    };
    expect(check(packages)).toEqual({
      status: 1,
      output: 'peer 1.2.3 is deprecated: Use another one.\ntool 2.0.0 is deprecated: No longer supported.\n',
    });
  });

  test('refuses a lock file that lacks a package', () => {
    const packages = { 'node_modules/peer': { version: '1.2.3' } };
    expect(check(packages)).toEqual({
      status: 1,
      output: 'tool is in package.json, but not in the lock file.\n',
    });
  });
});
