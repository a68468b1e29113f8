import { execFileSync } from 'node:child_process';
import ts from 'typescript';
import * as everything from 'nestjs-fair-lock';
import { HELP } from '../../lib/cli/help.js';
import { resolveOptions } from '../../lib/setup/option-resolution.js';
import { ROOT, textOf } from './pages.js';

const page = textOf('docs/configuration.md');

/** The members of an interface, as its source declares them. */
function membersOf(file: string, name: string): string[] {
  const source = ts.createSourceFile(file, ts.sys.readFile(`${ROOT}${file}`) ?? '', ts.ScriptTarget.Latest);
  const found = source.statements.find(
    (statement): statement is ts.InterfaceDeclaration =>
      ts.isInterfaceDeclaration(statement) && statement.name.text === name,
  );
  return (found?.members ?? []).map((member) => (member.name as ts.Identifier).text);
}

describe('docs/configuration.md', () => {
  test.each([
    ['lib/setup/options.ts', 'FairLockModuleOptions'],
    ['lib/nest/module/fair-lock.module-definition.ts', 'FairLockRegistrationOptions'],
    ['lib/nest/decorator/fair-locked.types.ts', 'OptionsOfDecorator'],
    ['lib/nest/request/fair-lock.interceptor.ts', 'OptionsOfInterceptor'],
    ['lib/core/options/acquire-options.ts', 'CallOptions'],
    ['lib/core/options/sharing.ts', 'SharingByPermits'],
  ])('%s: names every option of %s', (file, name) => {
    const members = membersOf(file, name);
    expect(members).not.toHaveLength(0);
    expect(members.filter((member) => !page.includes(`\`${member}\``))).toEqual([]);
  });

  test('tells the default that each option has', () => {
    const defaults = {
      ...resolveOptions({}),
      ...resolveOptions({ store: 'redisson' }),
      store: 'redis',
      maxLease: undefined,
    };
    // `replicas` has none, `redis` depends on the environment, and `maxLease` on the lease.
    const rows = Object.entries({ ...defaults, redis: undefined, replicas: undefined }).filter(
      ([name, value]) => value !== undefined && page.includes(`| \`${name}\` | `),
    );
    expect(rows.length).toBeGreaterThan(14);
    expect(rows.filter(([name, value]) => !page.includes(`| \`${name}\` | ${written(value)} |`))).toEqual([]);
  });

  const written = (value: unknown): string => {
    if (typeof value === 'string') return `\`'${value}'\``;
    return typeof value === 'number' && value < Infinity
      ? value.toLocaleString('en-US')
      : `\`${String(value)}\``;
  };
});

test('docs/errors.md names every error with its code', () => {
  const errors = Object.values(everything).flatMap((value) =>
    typeof value === 'function' && 'code' in value
      ? [`| \`${String(value.code)}\` | \`${value.name}\` |`]
      : [],
  );
  expect(errors).not.toHaveLength(0);
  expect(errors.filter((row) => !textOf('docs/errors.md').includes(row))).toEqual([]);
});

const optionsOf = (text: string): string[] => [...new Set(text.match(/--[a-z]+\b/g))].sort();

test('docs/cli.md and --help name the same options', () => {
  expect(optionsOf(textOf('docs/cli.md'))).toEqual(optionsOf(HELP));
});

test.each(['ls', 'inspect', 'watch', 'force-release', 'doctor'])(
  'docs/cli.md has a part about %s, which --help describes',
  (command) => {
    expect(textOf('docs/cli.md')).toContain(`## \`${command}\`\n`);
    expect(HELP).toMatch(new RegExp(`^ {2}${command} `, 'm'));
  },
);

/** The longest fixed part of each sentence that lib logs. */
const logged = execFileSync('git', ['ls-files', 'lib/*.ts'], { cwd: ROOT, encoding: 'utf8' })
  .trim()
  .split('\n')
  .flatMap((file) => [
    ...textOf(file).matchAll(/(?:withPage|[wW]arn|onWarning)\(\s*(['`])((?:[^'`\\]|\\.|(?<=\w)'(?=\w))*)\1/g),
  ])
  .map(([, , text = '']) => {
    const [longest = ''] = text
      .split(/\$\{[^}]*\}/)
      .map((part) => part.replaceAll(/^[\s.,:;()]+|[\s.,:;()]+$/g, ''))
      .sort((a, b) => b.length - a.length);
    // A page may quote its beginning.
    return /^(?:ms\) )?(.+?)(?:[.,:;] |$)/.exec(longest)?.[1] ?? '';
  })
  .filter((part) => part.length >= 12);

test.each([...new Set(logged)])('a page quotes the line of the log with "%s"', (part) => {
  const packed = (JSON.parse(textOf('package.json')) as { files: string[] }).files.filter((file) =>
    file.endsWith('.md'),
  );
  expect(packed.filter((page) => textOf(page).replaceAll(/\s+/g, ' ').includes(part))).not.toEqual([]);
});
