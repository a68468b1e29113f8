/** What the compiler says to who decorates wrongly: one sentence that names the problem, within its usual message. */
import { diagnosticsOf } from './compile.js';

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
    'the onTimeout function returns something else than the method',
  ],
];

describe('the compiler', () => {
  let messages: string[];
  beforeAll(() => {
    messages = diagnosticsOf([
      ...CASES.map(([decorated]) => decorated),
      `@FairLocked('a:<0>') async m(id: string) { return id; }`,
    ]);
  });

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
