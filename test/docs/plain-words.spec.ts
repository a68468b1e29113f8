import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT, textOf } from './pages.js';

/** Phrases that read as translated, with the words to use instead. */
const PHRASES: readonly (readonly [RegExp, string])[] = [
  [/\bof (?:its|their|your|my) own\b/, 'its own …, separate'],
  [/\b(?:that|those) of\b/, 'repeat the noun'],
  [/\bstands?\b/, 'is, goes'],
  [/\bg(?:ive|ives|iven|ave)(?: (?:it|them|the lock|locks|one))? back\b/, 'release'],
  [/\b(?:is|are|was|were) told\b/, 'a subject that tells'],
  [/\b(?:nobody|somebody|whoever)\b/, 'name the subject'],
  [/\bafter which\b/, 'a sentence that starts with a verb'],
];

/** Uses that are right, or words of a program's output. */
const ALLOWED = ['a second one needs a name of its own', 'by a process of its own'];

/** Pages for maintainers, and pages that the bench or the matrix writes. */
const NOT_FOR_USERS =
  /^(architecture|bench-results|compatibility|findings|performance|protocol|reliability|upstream|redisson)\.md$/;

const inDocs = (folder: string): string[] =>
  readdirSync(join(ROOT, folder))
    .filter((file) => file.endsWith('.md') && !NOT_FOR_USERS.test(file))
    .map((file) => `${folder}/${file}`);

const pages = ['README.md', ...inDocs('docs'), ...inDocs('docs/recipes')];

describe('the pages for users', () => {
  test.each(pages)('%s says it in words that a native reader does not notice', (page) => {
    const lines = textOf(page).split('\n');
    const found = lines.flatMap((line, index) =>
      ALLOWED.some((phrase) => line.includes(phrase))
        ? []
        : PHRASES.filter(([phrase]) => phrase.test(line)).map(
            ([phrase, better]) => `${page}:${index + 1}: ${phrase.exec(line)?.[0]} (better: ${better})`,
          ),
    );
    expect(found).toEqual([]);
  });
});
