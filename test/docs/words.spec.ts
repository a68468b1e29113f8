/** Phrases that a native engineer would not write: on pages, in what the package says, and in its comments. */
import { execFileSync } from 'node:child_process';
import { pages, ROOT, textOf } from './pages.js';

/** Each without its right uses, with what says it better. In a text about locks, the first is a hazard: it has two meanings. */
const PHRASES: readonly (readonly [phrase: RegExp, better: string])[] = [
  [/\bat once\b/gi, 'immediately, concurrently, in one call'],
  [/\b(?:is|are|was|were) over\b(?! \d)/gi, 'has expired, elapsed, ended'],
  [/\b(?:gets|takes|needs) no\b/gi, "doesn't get, take, need"],
  [/\bby (?:it|them)sel(?:f|ves)\b/gi, 'on its own, automatically'],
  [/\bso many\b/gi, 'that many, the number'],
  [/(?<!front )\bof (?:yours|(?:its|their) own)\b/gi, 'your, its, their'],
  [/\b(?:is|are) away\b/gi, 'is unreachable'],
  [/\bwarned of\b/gi, 'triggers a warning'],
  [/\b(?:is|are) to\b/gi, 'should, must'],
  [/\b(?:wait|waiting) already\b/gi, 'already waiting'],
  [/\bfor it is\b/gi, 'because it is'],
  [/\bfor ever\b/gi, 'forever'],
  [/(?<!fairlock_)\bpassed over\b/gi, 'skipped'],
  [/\bthere is no option\b/gi, 'unknown option'],
  [/\ball the same\b/gi, 'anyway'],
  [/\bset-up\b/gi, 'setup'],
];

/** One word for each thing, in what the package says and in its docstrings: its API says `maxQueue`, Redis and Nest reject, HTTP responds. */
const TERMS: typeof PHRASES = [
  [/\bin line\b(?! with)/gi, 'in the queue'],
  [
    /(?<!(?:command|end of|has) )\b(?:the|this|a) line (?!about|for each|in the log|of (?:a|the) l|separators)/gi,
    'the queue',
  ],
  [/\b(?:is|are|was|were|be) refused\b|\brefuses (?:a|it|the|them)\b/gi, 'is rejected'],
  [/\b(?:did|does|do)(?: not)? answer\b|\b(?:Redis|server|process|node) answer(?:s|ed)\b/gi, 'responds'],
  [/\b(?:an|HTTP|late|no|the) answers?\b/gi, 'a response'],
  [/\brepeatable\b(?! read)/gi, 'idempotent'],
  [/\ba Cluster\b(?! (?:client|node))/g, 'Redis Cluster'],
  [/\bclock of Redis\b/gi, 'the Redis clock'],
  [/\balso if\b/gi, 'even if'],
  [/\bin silence\b/gi, 'silently'],
];

/** On pages alone: messages and docstrings don't contract, and a page means permission only by "can". */
const ON_PAGES: typeof PHRASES = [
  [
    /\b(?:do|does|did|is|are|was|were|has|have|had|would|could|should|will) not\b|\bcannot\b/gi,
    "don't, can't",
  ],
  [/\bmay\b/g, 'can, might'],
  [/\bneed not\b/gi, "doesn't need to"],
  [/\b(?:go|goes|went) on\b/gi, 'continue'],
  [/\bbeside\b/gi, 'alongside, next to, in addition to'],
  [/\brefus(?:e|al|ing)/gi, 'reject'],
  [/\b(?:every|some|no)body\b|\bwhoever\b/gi, 'all callers, someone, none'],
];

/** For maintainers. */
const NOT_FOR_READERS = /^(docs\/internals|test|bench|sample-app|CODE_OF_CONDUCT)/;

/** Messages and alerts are read by who did not write the code: they name it as its author does. */
const IN_MESSAGES: typeof PHRASES = [
  [/\bsections?\b/gi, 'your code'],
  [/\bflows?\b/gi, 'call'],
  [/\bbeside\b/gi, 'alongside, next to'],
  [/\b(?:go|goes|went) on\b/gi, 'continue'],
];

/** What tears a page, and is not seen in a diff. */
const TORN: typeof PHRASES = [
  [/\n\n\n/g, 'one blank line'],
  [/[a-z]\.[A-Z][a-z]+ /g, 'a space after a full stop'],
];

const tracked = (...paths: string[]): string[] =>
  execFileSync('git', ['ls-files', ...paths], { cwd: ROOT, encoding: 'utf8' })
    .trim()
    .split('\n');
const sources = tracked('lib').filter((file) => /\.(?:ts|js|lua)$/.test(file));
const forms = tracked('observability/*.yml', '.github/ISSUE_TEMPLATE');

/** The sentences in the strings of a source. */
const messagesOf = (file: string): string =>
  (
    textOf(file)
      .replaceAll(/\/\*[^]*?\*\/|(?<=^|\s)\/\/.*$/gm, '')
      .match(/'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`/g) ?? []
  )
    .map((text) => text.replaceAll(/\$\{[^}]*\}/g, '…'))
    .filter((text) => text.includes(' '))
    .join('\n');

/** A page without its code; a source on one line, so that no phrase is cut by the end of one. */
const proseOf = (file: string): string =>
  file.endsWith('.md')
    ? textOf(file)
        .replaceAll(/^ *```[^]*?^ *```$/gm, '')
        .replaceAll(/\s+/g, ' ')
    : textOf(file).replaceAll(/\s+(?:\*\s+|\/\/\s+|--\s+|['"`] \+\s+['"`])?/g, ' ');

/** Without headings, which are anchors, and without what a page quotes: code, and the words of a message. */
const spoken = (file: string): string =>
  textOf(file)
    .replaceAll(/^ *```[^]*?^ *```$|^#.*$|`[^`]*`|"[^"]*"|\(\S*#\S*\)/gm, '')
    .replaceAll(/\s+/g, ' ');

const readersPages = pages().filter((page) => !NOT_FOR_READERS.test(page));

test.each([...readersPages, ...sources, ...forms])(
  '%s is in the words of its readers, one for each thing',
  (file) => {
    expect(found(PHRASES, proseOf(file))).toEqual([]);
    // The comments of the native store have the protocol's words: the answer of a script, a line of requests.
    const said = file.startsWith('lib/stores/redis/') ? messagesOf(file) : proseOf(file);
    if (!/stores\/redis\/.*lua$/.test(file)) expect(found(TERMS, said)).toEqual([]);
    if (file.endsWith('.md')) expect(found(ON_PAGES, spoken(file))).toEqual([]);
    if (file.endsWith('.ts')) expect(found(IN_MESSAGES, messagesOf(file))).toEqual([]);
    if (forms.includes(file)) expect(found(IN_MESSAGES, textOf(file))).toEqual([]);
  },
);

test.each(readersPages)('%s is whole', (page) => {
  expect(found(TORN, textOf(page).replaceAll(/^ *```[^]*?^ *```$|`[^`]*`/gm, '`'))).toEqual([]);
});

test('a rule that is named is one of the protocol', () => {
  const rules = new Set(textOf('docs/internals/protocol.md').match(/(?<=^### Rule )\d+$/gm));
  const named = [...sources, ...tracked('test', 'docs/internals', 'bench')].flatMap((file) =>
    Array.from(textOf(file).matchAll(/\brules? (\d+)\b|\b[RM]\d+\b(?=[):])/g), ([text, number]) => ({
      file,
      text,
      number,
    })),
  );
  expect(named.length).toBeGreaterThan(0);
  expect(named.filter(({ number }) => !rules.has(number ?? ''))).toEqual([]);
});

function found(phrases: typeof PHRASES, text: string): string[] {
  return phrases.flatMap(([phrase, better]) =>
    [...text.matchAll(phrase)].map(
      ({ index }) => `${text.slice(Math.max(0, index - 40), index + 40)} → ${better}`,
    ),
  );
}
