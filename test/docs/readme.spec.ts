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

test('the gate runs the commands of "Try it" and "Test it" on a clean checkout', () => {
  const gate = textOf('.ci/run');
  const commands = fragmentsOf('README.md').filter(({ text }) => text.startsWith('npm ci'));
  expect(commands).toHaveLength(2);
  for (const command of commands.flatMap(({ text }) => text.trim().split(' && '))) {
    expect(gate).toMatch(new RegExp(`'${command}( -- .*)?'`));
  }
});

/** Numbers, without those that are a part of a date, a version or a path. */
function figuresOf(text: string): string[] {
  return text.match(/(?<![\w.-])\d+(?:[.,]\d+)*(?![\w-]|\.\d)/g) ?? [];
}
