import ts from 'typescript';
import * as everything from 'nestjs-fair-lock';
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
