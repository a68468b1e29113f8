/** The decorator compiles under the settings that applications have, and checks what these let it check. */
import { Application, VERSIONS } from './compile.js';

/** Beside the strict settings of messages.spec.ts. */
const SETTINGS = {
  'strict: false (nest new --no-strict)': {
    strict: false,
    exactOptionalPropertyTypes: false,
    noUncheckedIndexedAccess: false,
  },
  'strictNullChecks: false (nest new up to CLI 10)': {
    strict: false,
    exactOptionalPropertyTypes: false,
    strictNullChecks: false,
    noImplicitAny: false,
    strictBindCallApply: false,
  },
} as const;

const FITS = [
  `@FairLocked() async m() {}`,
  `@FairLocked('a') async m() {}`,
  `@FairLocked('a:<0>') async m(id: string) { return id; }`,
  `@FairLocked('a:<0.id>:<1>') async m(o: { id: string }, n: number) { return [o, n]; }`,
  `@FairLocked('a:<0.b.c>') async m(o: { b: { c: bigint } }) { return o; }`,
  `<T extends { id: string }> { @FairLocked('a:<0.id>') async m(o: T) { return o; } }`,
  `<K extends string> { @FairLocked('a:<0>') async m(k: K) { return k; } }`,
  `@FairLocked(['a:<0>', 'a:<1>']) async m(a: string, b: string) { return a + b; }`,
  `@FairLocked((id: string) => \`a:\${id}\`) async m(id: string) { return id; }`,
  `@FairLocked('a', { waitTime: 0, onTimeout: 'skip' }) async m(): Promise<void> {}`,
  `@FairLocked('a:<0>', { onTimeout: (id: string) => id }) async m(id: string) { return id; }`,
  `@FairLocked('a', { returns: 'observable' }) m() { return of(1); }`,
  `@FairLocked('a', { returns: 'iterable' }) async *m() { yield 1; }`,
  `@FairLocked('{tenant}:<0>') async m(id: string) { return id; }`,
  `@applyDecorators(Get(':id'), FairLocked('a:<0>')) async m(id: string) { return id; }`,
  `@applyDecorators(FairLocked()) async m() {}`,
  `@applyDecorators(FairLocked(['a:<0>', 'b'], { waitTime: 5 })) async m(id: string) { return id; }`,
  `@applyDecorators(FairLocked((id: string) => id)) async m(id: string) { return id; }`,
];

const REFUSED: readonly (readonly [decorated: string, sentence: string])[] = [
  [
    `@FairLocked('a:<1>') async m(id: string) { return id; }`,
    '<1> in the lock key names a parameter that the method does not have',
  ],
  [
    `@FairLocked('a:<0.nope>') async m(o: { id: string }) { return o; }`,
    '<0.nope> in the lock key reads the property \\"nope\\", which does not exist',
  ],
  [
    `@FairLocked('a:<0>') async m(o: { id: string }) { return o; }`,
    '<0> in the lock key is not a string, number, bigint or boolean: use a function',
  ],
  [
    `<T extends { id: string }> { @FairLocked('a:<0.nope>') async m(o: T) { return o; } }`,
    '<0.nope> in the lock key reads the property \\"nope\\", which does not exist',
  ],
  [
    `@FairLocked('a') m() { return 'sync'; }`,
    'a locked method returns a promise, as it may have to wait; this one is synchronous',
  ],
  [
    `@FairLocked((id) => \`a:\${id}\`) async m(id: string) { return id; }`,
    'the parameters of the key function need types, as in (id: string) => ...',
  ],
  [
    `@FairLocked('x:#{id}') async m(id: string) { return id; }`,
    'the lock key \\"x:#{id}\\" is one key for all calls: a placeholder is <0> or <0.id>',
  ],
  [
    `@applyDecorators(FairLocked('x:{0}')) async m(id: string) { return id; }`,
    'the lock key \\"x:{0}\\" is one key for all calls: a placeholder is <0> or <0.id>',
  ],
];

const application = new Application();
beforeAll(() => application.prepare());
afterAll(() => application.remove());

describe.each(
  VERSIONS.flatMap((version) =>
    Object.entries(SETTINGS).map(([name, settings]) => ({ version, name, settings })),
  ),
)('TypeScript $version with $name', ({ version, settings }) => {
  let messages: string[];
  beforeAll(async () => {
    const bodies = [...FITS, ...REFUSED.map(([decorated]) => decorated)];
    messages = await application.diagnosticsOf(version, bodies, settings);
  });

  test.each(FITS.map((decorated, index) => [decorated, index] as const))(
    '%s compiles',
    (_decorated, index) => {
      expect(messages[index]).toBe('');
    },
  );

  test.each(REFUSED.map((each, index) => [...each, index] as const))(
    '%s is refused with a sentence',
    (_decorated, sentence, index) => {
      expect(messages[FITS.length + index]).toContain(`"${sentence}"`);
    },
  );
});
