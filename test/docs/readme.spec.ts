import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fragmentsOf, textOf } from './pages.js';

const README = textOf('README.md');

test('has no figures of performance, which docs/performance.md has with their noise', () =>
  expect(README).not.toMatch(/\d (?:µs|%|×|requests)/));

test('has the guarantees of docs/reliability.md', () => {
  const promises = (text: string): string[] =>
    [...text.matchAll(/^\d\. \*\*(.+?)\.?\*\*/gm)].map(([, promise = '']) => promise);
  expect(promises(README)).toEqual(promises(textOf('docs/reliability.md')));
});

test('the gate runs the two commands of README on a clean checkout', () => {
  const gate = textOf('.ci/run');
  const commands = fragmentsOf('README.md').filter(({ text }) => text.startsWith('npm ci'));
  expect(commands).toHaveLength(1);
  for (const command of commands.flatMap(({ text }) => text.trim().split(/ && |\n/))) {
    expect(gate).toMatch(new RegExp(`'${command}( (--|&&) .*)?'`));
  }
});

test('README has at most 80 lines', () => expect(README.trim().split('\n').length).toBeLessThanOrEqual(80));

test.each([
  [{ repository: 'github:a/b' }, false],
  [{ repository: 'github:a/b', homepage: 'https://a.example' }, true],
])('npm publishes a package with %j: %s', (links, published) => {
  const folder = mkdtempSync(join(tmpdir(), 'fair-lock-publish-'));
  const { scripts } = JSON.parse(textOf('package.json')) as { scripts: { prepublishOnly: string } };
  const { prepublishOnly } = scripts;
  const content = {
    name: 'publish-me',
    version: '1.0.0',
    type: 'module',
    ...links,
    scripts: { prepublishOnly },
  };
  writeFileSync(join(folder, 'package.json'), JSON.stringify(content));
  const flags = ['--dry-run', '--offline', '--access', 'public'];
  const { status, stderr } = spawnSync('npm', ['publish', ...flags], { cwd: folder, encoding: 'utf8' });
  rmSync(folder, { recursive: true });
  expect(status === 0).toBe(published);
  expect(stderr.includes('Set repository and homepage in package.json')).toBe(!published);
});
