import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT, textOf } from './pages.js';
import { translatedPhrasesOf } from './plain-words.js';

/** Right uses. */
const ALLOWED = [
  'All figures, and where others are faster', // the figures say where
  'where to lock, and where an event escapes the lock',
];

/** A page that the matrix writes, and the list of faults that were found. */
const WRITTEN_BY_PROGRAMS = /^(compatibility|findings)\.md$/;

const inDocs = (folder: string): string[] =>
  readdirSync(join(ROOT, folder))
    .filter((file) => file.endsWith('.md') && !WRITTEN_BY_PROGRAMS.test(file))
    .map((file) => `${folder}/${file}`);

const pages = [
  ...['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md'],
  ...['bench/README.md', 'sample-app/README.md', 'test/README.md'],
  ...['docs', 'docs/decisions', 'docs/recipes'].flatMap(inDocs),
];

/** The lines of a page, numbered, without its blocks of code and output. */
function proseOf(page: string): (readonly [number, string])[] {
  let inCode = false;
  return textOf(page)
    .split('\n')
    .flatMap((line, index) => {
      if (line.trimStart().startsWith('```')) inCode = !inCode;
      return inCode || ALLOWED.some((phrase) => line.includes(phrase)) ? [] : [[index + 1, line] as const];
    });
}

describe('the pages', () => {
  test.each(pages)('%s says it in words that a native reader does not notice', (page) => {
    const found = proseOf(page).flatMap(([number, line]) =>
      translatedPhrasesOf(line).map((phrase) => `${page}:${number}: ${phrase}`),
    );
    expect(found).toEqual([]);
  });
});
