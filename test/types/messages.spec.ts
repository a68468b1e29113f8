/** What the compiler says to who decorates wrongly, under the settings of applications: one sentence that names the problem, within its usual message. */
import { Application, VERSIONS } from './compile.js';

/** What is refused under every setting, by the sentence. */
const REFUSED: Readonly<Record<string, readonly string[]>> = {
  '<0> in the lock key names a parameter that the method does not have': [
    `@FairLocked('a:<0>') async m() {}`,
  ],
  '<1> in the lock key names a parameter that the method does not have': [
    `@FairLocked('a:<1>') async m(id: string) { return id; }`,
    `@FairLocked(['b', { key: 'a:<1>', permits: 3 }]) async m(id: string) { return id; }`,
  ],
  '<0.nope> in the lock key reads the property \\"nope\\", which does not exist': [
    `@FairLocked('a:<0.nope>') async m(o: { id: string }) { return o; }`,
    `<T extends { id: string }> { @FairLocked('a:<0.nope>') async m(o: T) { return o; } }`,
  ],
  '<0> in the lock key is not a string, number, bigint or boolean: use a function': [
    `@FairLocked('a:<0>') async m(o: { id: string }) { return o; }`,
    `<T> { @FairLocked('a:<0>') async m(o: T) { return o; } }`,
  ],
  '<0> in the lock key is of type any: use a function': [
    `@FairLocked('a:<0>') async m(o: any) { return o; }`,
  ],
  '<0.b> in the lock key goes through a value of type any: use a function': [
    `@FairLocked('a:<0.b>') async m(o: any) { return o; }`,
  ],
  '<0.b> in the lock key reads \\"b\\" from an index signature, which may not be there: use a function': [
    `@FairLocked('a:<0.b>') async m(o: Record<string, string>) { return o; }`,
  ],
  '<id> in the lock key is not <index> or <index.property>': [
    `@FairLocked('a:<id>') async m(id: string) { return id; }`,
  ],
  'the lock key has an unpaired \\"<\\" or \\">\\" in \\"a:<0\\"': [
    `@FairLocked('a:<0') async m(id: string) { return id; }`,
  ],
  'the key function does not accept the arguments of the method': [
    `@FairLocked((id: number) => \`a:\${id}\`) async m(id: string) { return id; }`,
    `<T extends { id: string }> { @FairLocked((o: { nope: string }) => o.nope) async m(o: T) { return o; } }`,
  ],
  'the parameters of the key function need types, as in (id: string) => ...': [
    `@FairLocked((id) => \`a:\${id}\`) async m(id: string) { return id; }`,
  ],
  'the permits function does not accept the arguments of the method': [
    `@FairLocked('a', { permits: (limit: number) => limit }) async m(id: string) { return id; }`,
    `@FairLocked(['b', { key: 'a', permits: (limit: number) => limit }]) async m(id: string) { return id; }`,
  ],
  'the parameters of the permits function need types, as in (id: string) => ...': [
    `@FairLocked('a', { permits: (id) => 3 }) async m(id: string) { return id; }`,
  ],
  'the weight function does not accept the arguments of the method': [
    `@FairLocked('a', { permits: 9, weight: (part: number) => part }) async m(id: string) { return id; }`,
  ],
  'the lock key \\"x:#{id}\\" is one key for all calls: a placeholder is <0> or <0.id>': [
    `@FairLocked([{ key: 'x:#{id}', mode: 'read' }]) async m(id: string) { return id; }`,
    `@FairLocked('x:#{id}') async m(id: string) { return id; }`,
    `@applyDecorators(FairLocked('x:#{id}')) async m(id: string) { return id; }`,
  ],
  'the lock key \\"x:{{id}}\\" is one key for all calls: a placeholder is <0> or <0.id>': [
    `@FairLocked('x:{{id}}') async m(id: string) { return id; }`,
  ],
  'the lock key \\"x:{id}\\" is one key for all calls: a placeholder is <0> or <0.id>': [
    `@FairLocked(['x', 'x:{id}']) async m(id: string) { return id; }`,
  ],
  'a locked method returns a promise, as it may have to wait; this one is synchronous': [
    `@FairLocked('a') m() { return 'sync'; }`,
  ],
  "a method that returns an Observable needs { returns: 'observable' }": [
    `@FairLocked('a') m() { return of(1); }`,
  ],
  "a method that returns an async generator needs { returns: 'iterable' }": [
    `@FairLocked('a') async *m() { yield 1; }`,
  ],
  'a locked method returns a plain Observable; this one promises more, such as a Subject': [
    `@FairLocked('a', { returns: 'observable' }) m() { return new Subject<number>(); }`,
  ],
  'the onTimeout function returns something other than the method': [
    `@FairLocked('a', { onTimeout: () => 'x' }) async m() { return 1; }`,
  ],
};

/** What only strict null checks see. */
const NULLISH: typeof REFUSED = {
  '<0> in the lock key names an optional parameter, which may be undefined: use a function': [
    `@FairLocked('a:<0>') async m(id?: string) { return id; }`,
  ],
  '<0.id> in the lock key may be null or undefined: use a function': [
    `@FairLocked('a:<0.id>') async m(o: { id?: string }) { return o; }`,
    `<T extends { id?: string }> { @FairLocked('a:<0.id>') async m(o: T) { return o; } }`,
  ],
  '<0.id.x> in the lock key goes through a value that may be null or undefined: use a function': [
    `@FairLocked('a:<0.id.x>') async m(o: { id: { x: string } | null }) { return o; }`,
    `<T extends { id: { x: string } | null }> { @FairLocked('a:<0.id.x>') async m(o: T) { return o; } }`,
  ],
  '<0> in the lock key may be null or undefined: use a function': [
    `<K extends string | undefined> { @FairLocked('a:<0>') async m(k: K) { return k; } }`,
  ],
  "onTimeout: 'skip' is for a method that may return undefined": [
    `@FairLocked('a', { onTimeout: 'skip' }) async m() { return 1; }`,
  ],
};

const FITS: readonly string[] = [
  `@FairLocked() async m() {}`,
  `@FairLocked('a') async m() {}`,
  `@FairLocked('a:<0>') async m(id: string) { return id; }`,
  `@FairLocked('{tenant}:<0>') async m(id: string) { return id; }`,
  `@FairLocked('a:<0.id>:<1>') async m(o: { id: string }, n: number) { return [o, n]; }`,
  `@FairLocked('a:<0.b.c>') async m(o: { b: { c: bigint } }) { return o; }`,
  `<T extends { id: string; deep: { n: number } }> { @FairLocked('a:<0.id>:<0.deep.n>') async m(o: T) { return o; } }`,
  `<K extends string> { @FairLocked('a:<0>') async m(k: K) { return k; } }`,
  `<T extends { id: string }> { @FairLocked('a:<0>') async m(id: T['id']) { return id; } }`,
  `<T extends { id: string }> { @FairLocked('a:<0.value.id>') async m(box: { value: T }) { return box; } }`,
  `<T extends { id: string }> { @FairLocked(['a:<0.id>', 'a:<1>']) async m<K extends string>(o: T, k: K) { return [o, k]; } }`,
  `<T extends { id: string }> { @applyDecorators(Get(), FairLocked('a:<0.id>')) async m(o: T) { return o; } }`,
  `@FairLocked((id: string) => \`a:\${id}\`) async m(id: string) { return id; }`,
  `@FairLocked('a', { waitTime: 0, onTimeout: 'skip' }) async m(): Promise<void> {}`,
  `@FairLocked('a:<0>', { onTimeout: (id: string) => id }) async m(id: string) { return id; }`,
  `@FairLocked('a', { returns: 'observable' }) m() { return of(1); }`,
  `@FairLocked('a', { returns: 'iterable' }) async *m() { yield 1; }`,
  `@applyDecorators(FairLocked()) async m() {}`,
  `@applyDecorators(FairLocked(['a:<0>', 'b'], { waitTime: 5 })) async m(id: string) { return id; }`,
  `@applyDecorators(FairLocked((id: string) => id)) async m(id: string) { return id; }`,
];

const casesOf = (refused: typeof REFUSED) =>
  Object.entries(refused).flatMap(([sentence, all]) =>
    all.map((decorated) => [decorated, sentence] as const),
  );

const application = new Application();
beforeAll(() => application.prepare());
afterAll(() => application.remove());

describe.each(VERSIONS)('TypeScript %s', (version) => {
  describe.each([
    ['strict', {}, [...casesOf(REFUSED), ...casesOf(NULLISH)]],
    ['strict: false', { strict: false, exactOptionalPropertyTypes: false }, casesOf(REFUSED)],
  ])('with %s', (_name, settings, refused) => {
    let messages: string[];
    beforeAll(async () => {
      const bodies = [...refused.map(([decorated]) => decorated), ...FITS];
      messages = await application.diagnosticsOf(version, bodies, settings);
    });

    test.each(refused.map((each, index) => [...each, index] as const))(
      'refuses %s with a sentence',
      (_decorated, sentence, index) => {
        expect(messages[index]).toContain(`"${sentence}"`);
      },
    );

    test.each(FITS.map((each, index) => [each, index] as const))('has nothing against %s', (_, index) => {
      expect(messages[refused.length + index]).toBe('');
    });
  });

  test('names the types of a library that is built with declarations, from the package itself', async () => {
    const declarations = await application.declarationsOf(version, 'library.ts');
    expect(declarations).toContain('export declare const lockedBy');
    expect(declarations).not.toContain('/lib/');
  });

  test('accepts and refuses each line of fair-locked.types.ts as it says', async () => {
    const declarations = await application.declarationsOf(version, 'fair-locked.types.ts');
    expect(declarations).toContain('export declare class Accepted');
  });
});

test.each(['core/engine/fair-lock-service', 'nest/module/fair-lock.module'])(
  'the declarations of a class that Nest makes (%s) show no constructor, which takes classes of the inside',
  (module) => {
    const declarations = application.declared(module);
    expect(declarations).toContain('export declare class FairLock');
    expect(declarations).not.toMatch(/constructor\(/);
  },
);
