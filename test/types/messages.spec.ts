/** What the compiler says to who decorates wrongly: one sentence that names the problem, within its usual message. */
import ts from 'typescript';
import { fileURLToPath } from 'node:url';

const CASES: readonly (readonly [decorated: string, sentence: string])[] = [
  [
    `@FairLocked('a:<0>') async m() {}`,
    '<0> in the lock key names a parameter that the method does not have',
  ],
  [
    `@FairLocked('a:<0>') async m(id?: string) { return id; }`,
    '<0> in the lock key names an optional parameter, which may be undefined: use a function',
  ],
  [
    `@FairLocked('a:<0.nope>') async m(o: { id: string }) { return o; }`,
    '<0.nope> in the lock key reads the property \\"nope\\", which does not exist',
  ],
  [
    `@FairLocked('a:<0.id>') async m(o: { id?: string }) { return o; }`,
    '<0.id> in the lock key may be null or undefined: use a function',
  ],
  [
    `@FairLocked('a:<0.id.x>') async m(o: { id: { x: string } | null }) { return o; }`,
    '<0.id.x> in the lock key goes through a value that may be null or undefined: use a function',
  ],
  [
    `@FairLocked('a:<0>') async m(o: { id: string }) { return o; }`,
    '<0> in the lock key is not a string, number, bigint or boolean: use a function',
  ],
  [
    `@FairLocked('a:<0>') async m(o: any) { return o; }`,
    '<0> in the lock key is of type any: use a function',
  ],
  [
    `@FairLocked('a:<0.b>') async m(o: any) { return o; }`,
    '<0.b> in the lock key goes through a value of type any: use a function',
  ],
  [
    `@FairLocked('a:<0.b>') async m(o: Record<string, string>) { return o; }`,
    '<0.b> in the lock key reads \\"b\\" from an index signature, which may not be there: use a function',
  ],
  [
    `@FairLocked('a:<id>') async m(id: string) { return id; }`,
    '<id> in the lock key is not <index> or <index.property>',
  ],
  [
    `@FairLocked('a:<0') async m(id: string) { return id; }`,
    'the lock key has an unpaired \\"<\\" or \\">\\" in \\"a:<0\\"',
  ],
  [
    `@FairLocked((id: number) => \`a:\${id}\`) async m(id: string) { return id; }`,
    'the key function does not accept the arguments of the method',
  ],
  [
    `@FairLocked('a') m() { return 'sync'; }`,
    'a locked method returns a promise, as it may have to wait; this one is synchronous',
  ],
  [
    `@FairLocked('a') m() { return of(1); }`,
    "a method that returns an Observable needs { returns: 'observable' }",
  ],
  [
    `@FairLocked('a') async *m() { yield 1; }`,
    "a method that returns an async generator needs { returns: 'iterable' }",
  ],
  [
    `@FairLocked('a', { returns: 'observable' }) m() { return new Subject<number>(); }`,
    'a locked method returns a plain Observable; this one promises more, such as a Subject',
  ],
  [
    `@FairLocked('a', { onTimeout: 'skip' }) async m() { return 1; }`,
    "onTimeout: 'skip' is for a method that may return undefined",
  ],
  [
    `@FairLocked('a', { onTimeout: () => 'x' }) async m() { return 1; }`,
    'the onTimeout function returns something else than the method',
  ],
];

/** Compiles each case as a class in a file of its own that exists only here. */
function diagnosticsOf(cases: readonly string[]): string[] {
  const root = fileURLToPath(new URL('../..', import.meta.url));
  const config = ts.parseJsonConfigFileContent(
    ts.readConfigFile(`${root}/tsconfig.json`, (path) => ts.sys.readFile(path)).config,
    ts.sys,
    root,
  );
  const sources = new Map(
    cases.map((decorated, index) => [
      `${root}test/types/case-${index}.ts`,
      `import { FairLocked } from 'nestjs-fair-lock';
       import { of, Subject } from 'rxjs';
       export const used = [of, Subject];
       export class Case { ${decorated} }`,
    ]),
  );
  const options = { ...config.options, noErrorTruncation: true };
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

describe('the compiler', () => {
  let messages: string[];
  beforeAll(() => {
    messages = diagnosticsOf([
      ...CASES.map(([decorated]) => decorated),
      `@FairLocked('a:<0>') async m(id: string) { return id; }`,
    ]);
  }, 60_000); // a whole program is compiled

  test.each(CASES.map((each, index) => [...each, index] as const))(
    'refuses %s with a sentence',
    (_, sentence, index) => {
      expect(messages[index]).toContain(`"${sentence}"`);
    },
  );

  test('has nothing against a decorator that fits', () => {
    expect(messages.at(-1)).toBe('');
  });
});
