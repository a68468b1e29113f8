import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fragmentsOf, textOf } from './pages.js';

const README = textOf('README.md');

test('the figures of what it costs stand together in a section of docs/performance.md', () => {
  const [before = '', costs = '', after = ''] = README.split(/^(## What it costs\n[^]*?)(?=^## )/m);
  const sections = textOf('docs/performance.md').split(/^## /m).map(figuresOf);
  const measured = (line: string): boolean =>
    sections.some((section) => figuresOf(line).every((figure) => section.includes(figure)));
  const lines = costs.split('\n').filter((line) => figuresOf(line).length > 0);
  expect(lines).not.toHaveLength(0);
  expect(lines.filter((line) => !measured(line))).toEqual([]);
  expect(before + after).not.toMatch(/\d (?:µs|%|×|requests)/); // where this test would not see it
});

test('the gate runs the two commands of README on a clean checkout', () => {
  const gate = textOf('.ci/run');
  const commands = fragmentsOf('README.md').filter(({ text }) => text.startsWith('npm ci'));
  expect(commands).toHaveLength(2);
  for (const command of commands.flatMap(({ text }) => text.trim().split(' && '))) {
    expect(gate).toMatch(new RegExp(`'${command}( -- .*)?'`));
  }
});

test('README has at most 120 lines', () => expect(README.trim().split('\n').length).toBeLessThanOrEqual(120));

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

/** Numbers, without those that are a part of a date, a version or a path. */
function figuresOf(text: string): string[] {
  return text.match(/(?<![\w.-])\d+(?:[.,]\d+)*(?![\w-]|\.\d)/g) ?? [];
}
