import { compile } from './compile.js';
import { fragmentsOfSuite } from './pages.js';
import { outputOf, programsOf, withoutChance } from './programs.js';

/** Every fragment of the pages of a suite compiles, and what is followed by its output prints it. */
export function describeSuite(suite: string): void {
  const fragments = fragmentsOfSuite(suite);
  const code = fragments.filter(({ language }) => language === 'ts');
  const programs = programsOf(fragments);

  test('there are pages with code', () => {
    expect(code).not.toHaveLength(0);
  });

  describe('the code of the pages', () => {
    const problems = compile(code, suite);
    test.each(code.map((fragment) => [fragment.place, fragment] as const))('%s compiles', (_, fragment) => {
      expect(problems.get(fragment)).toEqual([]);
    });

    test('declares no name at its top that a CommonJS module, as the CLI of Nest 11 makes, has already', () => {
      const taken = /^(?:let|const|var|class|(?:async )?function) (?:module|exports|require|__\w+name)\b/m;
      expect(code.filter(({ text }) => taken.test(text)).map(({ place }) => place)).toEqual([]);
    });
  });

  if (programs.length === 0) return;
  describe('the output on the pages', () => {
    test.each(programs.map((program) => [program.place, program] as const))(
      '%s is what the program before it prints',
      async (_, program) => {
        expect(withoutChance(await outputOf(program, suite))).toBe(withoutChance(program.output));
      },
      180_000,
    );
  });
}
