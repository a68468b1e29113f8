/** What the compiler says to who decorates wrongly: one sentence that names the problem, within its usual message. */
import { Application, VERSIONS } from './compile.js';

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
    `@FairLocked((id) => \`a:\${id}\`) async m(id: string) { return id; }`,
    'the parameters of the key function need types, as in (id: string) => ...',
  ],
  [
    `@FairLocked('a', { permits: (limit: number) => limit }) async m(id: string) { return id; }`,
    'the permits function does not accept the arguments of the method',
  ],
  [
    `@FairLocked('a', { permits: (id) => 3 }) async m(id: string) { return id; }`,
    'the parameters of the permits function need types, as in (id: string) => ...',
  ],
  [
    `@FairLocked('a', { permits: 9, weight: (part: number) => part }) async m(id: string) { return id; }`,
    'the weight function does not accept the arguments of the method',
  ],
  [
    `@FairLocked(['b', { key: 'a', permits: (limit: number) => limit }]) async m(id: string) { return id; }`,
    'the permits function does not accept the arguments of the method',
  ],
  [
    `@FairLocked(['b', { key: 'a:<1>', permits: 3 }]) async m(id: string) { return id; }`,
    '<1> in the lock key names a parameter that the method does not have',
  ],
  [
    `@FairLocked([{ key: 'x:#{id}', mode: 'read' }]) async m(id: string) { return id; }`,
    'the lock key \\"x:#{id}\\" is one key for all calls: a placeholder is <0> or <0.id>',
  ],
  [
    `@FairLocked('x:#{id}') async m(id: string) { return id; }`,
    'the lock key \\"x:#{id}\\" is one key for all calls: a placeholder is <0> or <0.id>',
  ],
  [
    `@FairLocked('x:{{id}}') async m(id: string) { return id; }`,
    'the lock key \\"x:{{id}}\\" is one key for all calls: a placeholder is <0> or <0.id>',
  ],
  [
    `@FairLocked(['x', 'x:{id}']) async m(id: string) { return id; }`,
    'the lock key \\"x:{id}\\" is one key for all calls: a placeholder is <0> or <0.id>',
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
    'the onTimeout function returns something other than the method',
  ],
  [
    `<T extends { id: string }> { @FairLocked('a:<0.nope>') async m(o: T) { return o; } }`,
    '<0.nope> in the lock key reads the property \\"nope\\", which does not exist',
  ],
  [
    `<T extends { id?: string }> { @FairLocked('a:<0.id>') async m(o: T) { return o; } }`,
    '<0.id> in the lock key may be null or undefined: use a function',
  ],
  [
    `<T extends { id: { x: string } | null }> { @FairLocked('a:<0.id.x>') async m(o: T) { return o; } }`,
    '<0.id.x> in the lock key goes through a value that may be null or undefined: use a function',
  ],
  [
    `<K extends string | undefined> { @FairLocked('a:<0>') async m(k: K) { return k; } }`,
    '<0> in the lock key may be null or undefined: use a function',
  ],
  [
    `<T> { @FairLocked('a:<0>') async m(o: T) { return o; } }`,
    '<0> in the lock key is not a string, number, bigint or boolean: use a function',
  ],
  [
    `<T extends { id: string }> { @FairLocked((o: { nope: string }) => o.nope) async m(o: T) { return o; } }`,
    'the key function does not accept the arguments of the method',
  ],
];

const FITS: readonly string[] = [
  `@FairLocked('a:<0>') async m(id: string) { return id; }`,
  `<T extends { id: string; deep: { n: number } }> { @FairLocked('a:<0.id>:<0.deep.n>') async m(o: T) { return o; } }`,
  `<K extends string> { @FairLocked('a:<0>') async m(k: K) { return k; } }`,
  `<T extends { id: string }> { @FairLocked('a:<0>') async m(id: T['id']) { return id; } }`,
  `<T extends { id: string }> { @FairLocked('a:<0.value.id>') async m(box: { value: T }) { return box; } }`,
  `<T extends { id: string }> { @FairLocked(['a:<0.id>', 'a:<1>']) async m<K extends string>(o: T, k: K) { return [o, k]; } }`,
  `<T extends { id: string }> { @applyDecorators(Get(), FairLocked('a:<0.id>')) async m(o: T) { return o; } }`,
];

const application = new Application();
beforeAll(() => application.prepare());
afterAll(() => application.remove());

describe.each(VERSIONS)('TypeScript %s', (version) => {
  let messages: string[];
  beforeAll(async () => {
    messages = await application.diagnosticsOf(version, [...CASES.map(([decorated]) => decorated), ...FITS]);
  });

  test.each(CASES.map((each, index) => [...each, index] as const))(
    'refuses %s with a sentence',
    (_, sentence, index) => {
      expect(messages[index]).toContain(`"${sentence}"`);
    },
  );

  test.each(FITS.map((each, index) => [each, index] as const))('has nothing against %s', (_, index) => {
    expect(messages[CASES.length + index]).toBe('');
  });

  test('names the types of a library that is built with declarations, from the package itself', async () => {
    const declarations = await application.declarationsOf(version, 'library.ts');
    expect(declarations).toContain('export declare const lockedBy');
    expect(declarations).not.toContain('/lib/');
  });

  test('accepts and refuses each line of fair-locked.types.ts as it says', async () => {
    expect(await application.diagnosticsOfFile(version, 'fair-locked.types.ts')).toBe('');
  });
});
