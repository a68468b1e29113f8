/** What a decorator or an interceptor cannot mean is refused when the class is defined; mistakes.spec.ts has those that the docs show. */
import {
  FairLocked,
  FairLockInterceptor,
  FairLockModule,
  getFairLockToken,
  InjectFairLock,
  LockConfigurationError,
  LockKeyError,
} from 'nestjs-fair-lock';
import { Locked } from '../nest.js';

class Orders {
  *items() {}
  get total() {
    return 1;
  }
}

/** Decorates a member of `Orders` as the compiler would. */
function decorate(decorator: MethodDecorator, value: unknown, name: string | symbol = 'pay'): void {
  decorator(Orders.prototype, name, { value });
}
const pay = async (): Promise<void> => {};
/** `Orders.pay`, locked with as many arguments. */
const locked = (...given: [key?: unknown, options?: object]) => decorate(Locked(...given), pay);
const intercept = FairLockInterceptor.for as (...given: unknown[]) => unknown;
const bare = FairLocked as unknown as MethodDecorator & ClassDecorator;

type Mistakes = Record<string, readonly [define: () => unknown, sentence: string]>;

const OF_KEYS: Mistakes = {
  'a key that is undefined beside options': [
    () => locked(undefined, {}),
    'Orders.pay: the key is undefined, so',
  ],
  'an undefined key in a list': [
    () => locked(['a', undefined]),
    'A lock key in the list of Orders.pay is undefined: write each as a string',
  ],
  'an undefined key of an object': [
    () => locked([{ key: undefined, permits: 2 }]),
    'A lock key in the list of Orders.pay is undefined',
  ],
  'an object without a key': [
    () => locked([{ permits: 2 }]),
    'A lock key in the list of Orders.pay is undefined',
  ],
  'an undefined key of an interceptor': [
    () => intercept(undefined),
    'FairLockInterceptor.for: the key is undefined, so',
  ],
  'no key of an interceptor': [() => intercept(), 'FairLockInterceptor.for: the key is undefined, so'],
  'an undefined key in the list of an interceptor': [() => intercept(['a', undefined]), 'is undefined'],
  'a malformed template': [
    () => locked('order:<id>'),
    'The lock key "order:<id>" of Orders.pay has the placeholder <id>, which does not name a value.',
  ],
  'a malformed template of an object': [() => locked([{ key: 'a:<0', permits: 2 }]), 'an unpaired "<"'],
  'a placeholder of another language in an object': [
    () => locked([{ key: 'x:#{id}', permits: 2 }]),
    'is plain text here',
  ],
  'an index in the template of an interceptor': [() => intercept('cart:<0>'), 'as in <params.id>'],
  'a parameter as in the path of a route': [
    () => intercept(['a', 'b::id:c']),
    'contains ":id", which is plain text here, so that all calls would share one lock. Write <params.id>;',
  ],
  'options in the place of the key': [
    () => locked({ waitTime: 5_000 }),
    'The first argument is the lock key of Orders.pay, but it is an object: write a string, a list of strings, or a function, as in ' +
      "@FairLocked('order:<0>', { waitTime: 5_000 }).",
  ],
};

const OF_THE_PLACE: Mistakes = {
  'an accessor': [
    () => Locked('x')(Orders.prototype, 'total', Object.getOwnPropertyDescriptor(Orders.prototype, 'total')!),
    '@FairLocked on Orders.total: an accessor cannot wait for a lock: write a method, `async total() { … }`.',
  ],
  'a property': [
    () => Locked('x')(Orders.prototype, 'pay', undefined as never),
    '@FairLocked on Orders.pay: a property has no function yet when its class is defined, so there is nothing to lock: write a method, ' +
      '`async pay() { … }`.',
  ],
  'a class': [
    () => (Locked('x') as unknown as ClassDecorator)(Orders),
    '@FairLocked on Orders: a class cannot be locked as a whole: decorate its methods, ',
  ],
  'a class without a name, without a key': [
    () => Locked()(class {}.prototype, 'pay', { value: pay }),
    'give the lock a key',
  ],
  'a synchronous generator': [
    () => decorate(Locked('x'), Orders.prototype.items, 'items'),
    '@FairLocked on Orders.items: the method is a synchronous generator, which cannot wait for a lock: write `async *items()`.',
  ],
  'no parentheses': [
    () => decorate(bare, pay),
    '@FairLocked stands without parentheses on Orders.pay, so it would lock nothing: write @FairLocked().',
  ],
  'no parentheses above a symbol': [() => decorate(bare, pay, Symbol('pay')), 'on Orders.Symbol(pay), so'],
  'no parentheses above a class': [
    () => bare(Orders),
    '@FairLocked stands without parentheses on Orders, so it would lock nothing: write @FairLocked() above each method that needs the lock.',
  ],
  'no parentheses, by the ECMAScript standard': [
    () => Locked(pay, { kind: 'method', name: 'pay' }),
    '@FairLocked was called as a standard ECMAScript decorator',
  ],
  "returns: 'observable' on an async method": [
    () => locked('x', { returns: 'observable' }),
    "the options say returns: 'observable', but the method returns a promise, so the lock would end at the wrong moment: remove `returns`, or make the " +
      'method return an Observable.',
  ],
  "returns: 'promise' on an async generator": [
    () => decorate(Locked('x', { returns: 'promise' }), async function* () {}),
    'but the method returns an async generator, so the lock would end at the wrong moment: remove `returns`, or',
  ],
};

const OF_OPTIONS: Mistakes = {
  'undefined options': [
    () => locked('a', undefined),
    '@FairLocked on Orders.pay: the options are undefined, so',
  ],
  'an undefined registration': [
    () => locked('a', { name: undefined }),
    '@FairLocked on Orders.pay: the name of the registration is undefined, so',
  ],
  'undefined options of an interceptor': [
    () => intercept('a', undefined),
    'FairLockInterceptor.for: the options are undefined, so',
  ],
  'an undefined registration of an interceptor': [
    () => intercept('a', { name: undefined }),
    'FairLockInterceptor.for: the name of the registration is undefined, so',
  ],
  'an undefined registration of an injected service': [
    () => InjectFairLock(undefined),
    'The name of a FairLockModule registration must be a non-empty string; it is undefined.',
  ],
  'an end of the hold that does not exist': [
    () => intercept('a', { until: 'reply' }),
    "On FairLockInterceptor.for, the option until must be 'handler' or 'response'; it is 'reply'.",
  ],
  'a text': [
    () => Locked('order', 'pay' as never),
    "The @FairLocked options must be an object; it is 'pay'.",
  ],
  'an option that does not exist': [
    () => Locked('order', { timeout: 3 }),
    "Unknown @FairLocked option 'timeout'. The options are: waitTime, leaseTime,",
  ],
  'an option that an interceptor does not have': [
    () => intercept('cart', { timeout: 3 }),
    "Unknown FairLockInterceptor option 'timeout'. The options are: waitTime, leaseTime,",
  ],
  'an option that is not for a method': [
    () => Locked('order', { owner: 'all' }),
    "Unknown @FairLocked option 'owner'",
  ],
  'onTimeout that does not exist': [
    () => locked('x', { onTimeout: 'ignore' }),
    "onTimeout is 'ignore'; write 'skip' to return undefined, or a function to call instead.",
  ],
  'returns that does not exist': [
    () => decorate(Locked('x', { returns: 'stream' }), () => undefined),
    "returns is 'stream'; write 'observable' or 'iterable', or remove it for a method that returns a promise.",
  ],
  'undefined permits of a key': [
    () => locked(['a', { key: 'k', permits: undefined }]),
    'On Orders.pay, the lock option permits must be',
  ],
  'an option that is not for a key': [
    () => locked(['a', { key: 'k', waitTime: 5 }]),
    "Unknown key option 'waitTime'",
  ],
  'permits of a reader': [
    () => locked('k', { permits: (n: number) => n, mode: 'read' }),
    'On Orders.pay, the lock option permits cannot be combined with mode',
  ],
  'a weight of 0 beside a function': [
    () => locked('k', { permits: (n: number) => n, weight: 0 }),
    'On Orders.pay, the lock option weight must be',
  ],
  'another option beside a function': [
    () => locked('k', { permits: 1, weight: () => 1, maxHold: null }),
    'On Orders.pay, the lock option maxHold must be a number of milliseconds',
  ],
  'permits of an interceptor': [
    () => intercept('k', { permits: undefined }),
    ', or absent; it is undefined.',
  ],
};

test.each(Object.entries(OF_KEYS))('%s is refused when the class is defined', (_, [define, sentence]) => {
  expect(define).toThrow(LockKeyError);
  expect(define).toThrow(sentence);
});

test.each(Object.entries({ ...OF_THE_PLACE, ...OF_OPTIONS }))(
  '%s is refused when the class is defined',
  (_, [define, sentence]) => {
    expect(define).toThrow(LockConfigurationError);
    expect(define).toThrow(sentence);
  },
);

test.each([
  ['waitTime', NaN, 'a number of milliseconds from 0 to 2147483647, or Infinity; it is NaN.'],
  ['leaseTime', 0, 'a number of milliseconds from 1 to 2147483647; it is 0.'],
  ['holdAtLeast', Infinity, 'a number of milliseconds from 0 to 2147483647; it is Infinity.'],
  ['maxHold', 0, 'a number of milliseconds from 1 to 2147483647, or Infinity; it is 0.'],
  ['maxQueue', 1.5, 'a whole number from 0 to 2147483647, or Infinity; it is 1.5.'],
  ['permits', 0, 'a whole number from 1 to 2147483647; it is 0.'],
  ['onLost', 'throw', "'signal' or 'reject'; it is 'throw'."],
  ['reentrant', 'no', "true or false; it is 'no'."],
  ['requestScope', true, "'handler', 'deep' or false; it is true."],
])('%s: %p of a decorator or an interceptor is refused when the class is defined', (name, value, says) => {
  expect(() => locked('a', { [name]: value })).toThrow(
    `On Orders.pay, the lock option ${name} must be ${says}`,
  );
  expect(() => intercept('a', { [name]: value })).toThrow(
    new RegExp(`^On FairLockInterceptor.*, the lock option ${name} `),
  );
});

test.each([null, 5, 'x', Symbol('a'), () => 5])(
  'options of an interceptor that are no object (%p) are refused when the class is defined',
  (options) => {
    expect(() => intercept('a', options)).toThrow(LockConfigurationError);
    expect(() => intercept('a', options)).toThrow('The FairLockInterceptor options must be an object; ');
  },
);

test.each([[Symbol('billing')], [7n], [''], [null]])(
  '%p is refused as the name of a registration',
  (given) => {
    const name = given as never;
    for (const use of [
      () => Locked('order', { name }),
      () => getFairLockToken(name),
      () => FairLockModule.forRoot({ name }),
    ])
      expect(use).toThrow('The name of a FairLockModule registration must be a non-empty string; it is ');
  },
);

test('a decorator without arguments locks by the name of the method', () => {
  expect(() => locked()).not.toThrow();
  expect(() => InjectFairLock()).not.toThrow();
});
