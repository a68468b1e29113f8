/** Phrases that a native engineer stumbles over, in what the package says and in its docstrings. */
import { execFileSync } from 'node:child_process';
import { ROOT, textOf } from './pages.js';

/** The phrase, without its right uses, and what to write instead. */
const PHRASES: readonly (readonly [phrase: RegExp, instead: string])[] = [
  [/\bat once\b/gi, 'immediately, concurrently, in one call'],
  [/\b(?:is|are|was|were) over\b(?! \d)/gi, 'has expired, elapsed, ended'],
  [/\b(?:gets|takes|needs) no\b/gi, 'does not get, take, need'],
  [/\bby itself\b/gi, 'automatically'],
  [/\bso many\b/gi, 'this many, or the number'],
  [/\bof (?:yours|(?:its|their) own)\b/gi, 'your, its, their'],
  [/\b(?:is|are) away\b/gi, 'is unreachable'],
  [/\bwarned of\b/gi, 'triggers a warning'],
  [/\b(?:is|are) to\b/gi, 'should, must'],
  [/\bwait already\b/gi, 'are already waiting'],
  [/\bfor it is\b/gi, 'because it is'],
  [/\bfor ever\b/gi, 'forever'],
  [/\bpassed over\b/gi, 'skipped'],
  [/\bthere is no option\b/gi, 'unknown option'],
];

/** Generated, or rewritten at present. */
const NOT_YET = /^lib\/stores\/redis\/|\.generated\.ts$/;

/** What is checked. To check the pages, too, add 'README.md' and 'docs'. */
const CHECKED = ['lib'];

const files = execFileSync('git', ['ls-files', ...CHECKED], { cwd: ROOT, encoding: 'utf8' })
  .split('\n')
  .filter((file) => /\.(?:ts|js|md)$/.test(file) && !NOT_YET.test(file));

test.each(PHRASES)('nothing says %s, but: %s', (phrase) => {
  const found = files.flatMap((file) => {
    const text = textOf(file).replace(/\s+(?:\*\s+|\/\/\s+|['"`] \+\s+['"`])?/g, ' ');
    return [...text.matchAll(phrase)]
      .map(({ index }) => text.slice(Math.max(0, index - 40), index + 40))
      .map((use) => `${file}: ${use}`);
  });
  expect(found).toEqual([]);
});
