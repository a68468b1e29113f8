import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT, textOf } from './pages.js';

const PAGE = 'docs/architecture.md';
const page = textOf(PAGE);

const sectionOf = (heading: string): string => page.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? '';

/** Paths in a text, such as `core/engine/acquirer.ts` or `stores/redis/view/`. */
const pathsIn = (text: string): string[] =>
  [...text.matchAll(/`([\w.-]+\/[\w./-]*)`/g)].map(([, path = '']) => path);

test.each([...new Set(pathsIn(page))])('the architecture page names %s, which exists', (path) => {
  expect(['', 'lib', 'lib/stores'].some((base) => existsSync(join(ROOT, base, path)))).toBe(true);
});

/** The three questions with their answers. */
const answers = sectionOf('Where things are decided')
  .split('\n- ')
  .slice(1)
  .map((item) => [item.split('**')[1] ?? '', item] as const);

test('the architecture page answers three questions of a reader', () => {
  expect(answers).toHaveLength(3);
});

test.each(answers)('%s is answered by functions in two linked files at most', (_, answer) => {
  const links = [...answer.matchAll(/\]\(([^)]+)\)/g)].map(([, link = '']) => join(ROOT, 'docs', link));
  const code = links.map((link) => readFileSync(link, 'utf8'));
  const names = [...answer.matchAll(/`(\w+)`/g)].map(([, name]) => name);
  expect([1, 2]).toContain(links.length);
  expect(names).not.toEqual([]);
  expect(names.filter((name) => !code.some((text) => new RegExp(`\\b${name}[(<]`).test(text)))).toEqual([]);
});

test('a call that waits passes through at most 24 files of TypeScript', () => {
  const [, table = ''] = sectionOf('The way of one call').split('| file |');
  const files = table.split('\n').flatMap((row) => pathsIn(row.split(' | ')[0] ?? ''));
  const typescript = files.filter((path) => path.endsWith('.ts'));
  expect(new Set(typescript).size).toBe(typescript.length);
  expect(typescript.length).toBeGreaterThan(12);
  expect(typescript.length).toBeLessThanOrEqual(24);
});
