/** Compiles decorated classes that exist only here, with the compiler options of a user. */
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** What the compiler says of each class body, in order; empty where it has nothing against it. */
export function diagnosticsOf(bodies: readonly string[], others: ts.CompilerOptions = {}): string[] {
  const read = ts.readConfigFile(`${ROOT}/tsconfig.json`, (path) => ts.sys.readFile(path));
  const { options: ours } = ts.parseJsonConfigFileContent(read.config, ts.sys, ROOT);
  const sources = new Map(
    bodies.map((body, index) => [
      `${ROOT}test/types/case-${index}.ts`,
      `import { FairLocked, FairLockInterceptor } from 'nestjs-fair-lock';
       import { applyDecorators, Get } from '@nestjs/common';
       import { of, Subject } from 'rxjs';
       export const used = [of, Subject, applyDecorators, Get, FairLockInterceptor];
       export class Case { ${body} }`,
    ]),
  );
  const options = { ...ours, noErrorTruncation: true, ...others };
  const host = ts.createCompilerHost(options);
  const { fileExists, readFile } = host;
  host.fileExists = (path) => sources.has(path) || fileExists.call(host, path);
  host.readFile = (path) => sources.get(path) ?? readFile.call(host, path);
  const program = ts.createProgram([...sources.keys()], options, host);
  return [...sources.keys()].map((path) =>
    program
      .getSemanticDiagnostics(program.getSourceFile(path))
      .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'))
      .join('\n'),
  );
}
