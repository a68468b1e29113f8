/** What an application can import, and what the declarations of classes that Nest makes show of the inside: nothing. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

test('the service and the module have no constructor that takes classes of the inside', () => {
  const read = ts.readConfigFile(`${ROOT}/lib/tsconfig.build.json`, (path) => ts.sys.readFile(path));
  const { options } = ts.parseJsonConfigFileContent(read.config, ts.sys, `${ROOT}/lib`);
  const files = ['core/engine/fair-lock-service', 'nest/module/fair-lock.module'].map(
    (file) => `${ROOT}lib/${file}.ts`,
  );
  const program = ts.createProgram(files, {
    ...options,
    noEmit: false,
    declaration: true,
    emitDeclarationOnly: true,
  });
  const declarations = files.map((file) => {
    let declaration = '';
    program.emit(program.getSourceFile(file), (_path, text) => void (declaration = text));
    return declaration;
  });
  for (const declaration of declarations) {
    expect(declaration).toContain('export declare class FairLock');
    expect(declaration).not.toMatch(/constructor\(/);
  }
});

test('the package exports each folder of lib that has an index', () => {
  const { exports } = JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8')) as { exports: object };
  const entries = readdirSync(`${ROOT}lib`).filter((folder) => existsSync(`${ROOT}lib/${folder}/index.ts`));
  expect(Object.keys(exports).sort()).toEqual(
    ['.', './package.json', ...entries.map((entry) => `./${entry}`)].sort(),
  );
});
