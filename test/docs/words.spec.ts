import { pages, textOf } from './pages.js';

/** For maintainers. */
const OTHERS = /^(docs\/(architecture|protocol|performance|decisions)|test|bench|sample-app|CODE_OF_CONDUCT)/;

/** What a native engineer would not write, with what says it better. In a page about locks, the first is a hazard: it has two meanings. */
const WORDS: readonly (readonly [RegExp, string])[] = [
  [/\bat once\b/, 'immediately, concurrently, in one call'],
  [/\b(is|are) over\b/, 'has expired, elapsed, ended'],
  [/\b(gets|takes) no\b/, "doesn't get, doesn't take"],
  [/\bby (it|them)sel(f|ves)\b/, 'on its own, automatically'],
  [/\bso many\b/, 'that many, a number'],
  [/(?<!front )\bof yours\b/, 'your own'],
  [/\bis away\b/, 'is unreachable'],
  [/\bwarned of\b/, 'triggers a warning'],
  [/\bpassed over\b/, 'skipped'],
  [/\b(wait|waiting) already\b/, 'already waiting'],
  [/\bfor it is\b/, 'because it is'],
  [/\ball the same\b/, 'anyway'],
  [/\bset-up\b/i, 'setup'],
];

/** Right uses. */
const ALLOWED = ['fairlock_passed_over_total'];

const proseOf = (page: string): string[] =>
  ALLOWED.reduce((text, right) => text.replaceAll(right, ''), textOf(page))
    .replaceAll(/^ *```[^]*?^ *```$/gm, '')
    .split(/(?<=[.!?|])\s+/);

test.each(pages().filter((page) => !OTHERS.test(page)))('%s is in the words of its readers', (page) => {
  const found = proseOf(page).flatMap((sentence) =>
    WORDS.filter(([word]) => word.test(sentence)).map(([, better]) => `${sentence} → ${better}`),
  );
  expect(found).toEqual([]);
});
