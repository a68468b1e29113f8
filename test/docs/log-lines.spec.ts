import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type FairLockError,
  LockLostError,
  LockShuttingDownError,
  LockTimeoutError,
} from '../../lib/core/errors/errors.js';
import { fragmentsOf, ROOT, textOf } from './pages.js';

const PAGE = 'docs/troubleshooting.md';

/** The parts of a printed line that are the same each time: without level, names, numbers and methods. */
const partsOf = (line: string): string[] =>
  line
    .replace(/^(WARN|ERROR) \[\w+\] | See nestjs-fair-lock\S+$/g, '')
    .split(
      /"[^"]*"|\([^)]*\)|(?:, held by )?\S+\/\d+\/\S+|\b[A-Z]\w+\.[a-z]\w+\b|[\d.]+(?: m?s\b)?|[:.] (?:evalsha)?/,
    )
    .map((part) => part.trim())
    .filter((part) => part.length > 2);

/** The texts of lib/, with literals that are joined by `+` in one piece. */
const texts = readdirSync(`${ROOT}lib`, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .map((name) => readFileSync(join(ROOT, 'lib', name), 'utf8').replaceAll(/['`"]\s*\+\s*['`"]/g, ''))
  .join('\n');

const lines = fragmentsOf(PAGE)
  .filter(({ words }) => words.includes('log'))
  .flatMap(({ text }) => text.trim().split('\n'));

test('there are lines of the log', () => expect(lines.length).toBeGreaterThan(10));

test.each(lines)('%s is what lib/ prints', (line) => {
  const { message = line, code } = line.startsWith('{')
    ? (JSON.parse(line) as { message: string; code: string })
    : { code: undefined };
  if (code !== undefined) expect(texts).toContain(`'${code}'`);
  if (message === 'Internal Server Error') return; // the name of the status
  expect(partsOf(message).filter((part) => !texts.includes(part))).toEqual([]);
});

const body = (error: FairLockError): string => JSON.stringify(error);
const timeout = new LockTimeoutError('cart:7', 5_000, { holder: 'web-2/1/Carts.add', heldFor: 9, ahead: 1 });

test.each([
  ['calls are answered with 423', body(timeout), 'Calls give up (423)'],
  ['calls give up', timeout.details, 'Calls give up (423)'],
  ['a lock was lost', new LockLostError('cart:7', 'its lease ran out').details, 'A lock was lost'],
  ['503 while deploying', body(new LockShuttingDownError('cart:7')), 'Answers with 503 while deploying'],
  [
    'a lock stays held',
    'The lock "cart:7" has been held for 1.5 s by web-2/1/Carts.add.',
    'A lock stays held',
  ],
  ['two workers ran one job', 'Error: job stalled more than allowable limit', 'Two workers ran one job'],
])('%s: who searches for what is printed finds its section', (_, printed, heading) => {
  const [code] = /"code":"\w+"/.exec(printed) ?? [];
  const stems = code === undefined ? partsOf(printed.replace(/^Error: /, '')).slice(0, 2) : [code];
  const sections = textOf(PAGE).split(/^## /m).slice(1);
  const found = sections.filter((section) => stems.every((stem) => section.includes(stem)));
  expect(found.map((section) => section.split('\n')[0])).toContain(heading);
});
