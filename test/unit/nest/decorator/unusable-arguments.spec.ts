/** What is undefined by accident, as in an import cycle or without a variable of the environment; options that no call can have. */
import {
  FairLockInterceptor,
  InjectFairLock,
  LockConfigurationError,
  type LockKeyError,
} from 'nestjs-fair-lock';
import { Locked } from '../nest.js';

class Orders {
  async pay(): Promise<void> {}
}

/** Decorates `Orders.pay` as the compiler would, with as many arguments. */
function decorate(...given: [key?: unknown, options?: object]): void {
  Locked(...given)(Orders.prototype, 'pay', { value: async () => {} });
}

const intercept = FairLockInterceptor.for as (...given: unknown[]) => unknown;

const MISTAKES: Record<string, readonly [() => unknown, RegExp]> = {
  'the key of a decorator': [
    () => decorate(undefined),
    /^@FairLocked on Orders\.pay: the key is undefined, so /,
  ],
  'its key beside options': [
    () => decorate(undefined, {}),
    /^@FairLocked on Orders\.pay: the key is undefined, so /,
  ],
  'a key of its list': [
    () => decorate(['a', undefined]),
    /^A lock key in the list of Orders\.pay is undefined: write each as a string/,
  ],
  'a key of an object': [
    () => decorate([{ key: undefined, permits: 2 }]),
    /^A lock key in the list of Orders\.pay is undefined: write each as a string/,
  ],
  'the options of a decorator': [
    () => decorate('a', undefined),
    /^@FairLocked on Orders\.pay: the options are undefined, so /,
  ],
  'the registration of a decorator': [
    () => decorate('a', { name: undefined }),
    /^@FairLocked on Orders\.pay: the name of the registration is undefined, so /,
  ],
  'the key of an interceptor': [
    () => intercept(undefined),
    /^FairLockInterceptor\.for: the key is undefined, so /,
  ],
  'no key of an interceptor': [() => intercept(), /^FairLockInterceptor\.for: the key is undefined, so /],
  'a key of its list, too': [() => intercept(['a', undefined]), /is undefined/],
  'the options of an interceptor': [
    () => intercept('a', undefined),
    /^FairLockInterceptor\.for: the options are undefined, so /,
  ],
  'the registration of an interceptor': [
    () => intercept('a', { name: undefined }),
    /^FairLockInterceptor\.for: the name of the registration is undefined, so /,
  ],
  'the registration of an injected service': [
    () => InjectFairLock(undefined),
    /^The name of a FairLockModule registration must be a non-empty string; it is undefined\./,
  ],
};

test.each(Object.entries(MISTAKES))(
  '%s that is given and undefined is refused when the class is defined',
  (_, [make, says]) => {
    let refusal: unknown;
    try {
      make();
    } catch (error) {
      refusal = error;
    }
    expect((refusal as LockConfigurationError | LockKeyError | undefined)?.message).toMatch(says);
  },
);

const OPTIONS: readonly (readonly [options: object, says: string])[] = [
  [
    { waitTime: NaN },
    'waitTime must be a number of milliseconds from 0 to 2147483647, or Infinity; it is NaN.',
  ],
  [
    { waitTime: -1 },
    'waitTime must be a number of milliseconds from 0 to 2147483647, or Infinity; it is -1.',
  ],
  [{ waitTime: '5s' }, 'waitTime must be a number of milliseconds from 0 to 2147483647, or Infinity; it is '],
  [{ leaseTime: 0 }, 'leaseTime must be a number of milliseconds from 1 to 2147483647; it is 0.'],
  [
    { holdAtLeast: Infinity },
    'holdAtLeast must be a number of milliseconds from 0 to 2147483647; it is Infinity.',
  ],
  [{ maxHold: 0 }, 'maxHold must be a number of milliseconds from 1 to 2147483647, or Infinity; it is 0.'],
  [{ maxQueue: 1.5 }, 'maxQueue must be a whole number from 0 to 2147483647, or Infinity; it is 1.5.'],
  [{ permits: 0 }, 'permits must be a whole number from 1 to 2147483647; it is 0.'],
  [{ permits: 1, weight: () => 1, maxHold: null }, 'maxHold must be a number of milliseconds'],
  [{ onLost: 'throw' }, "onLost must be 'signal' or 'reject'; it is 'throw'."],
  [{ reentrant: 'no' }, "reentrant must be true or false; it is 'no'."],
  [{ requestScope: 0 }, 'requestScope must be true or false; it is 0.'],
];

test.each(OPTIONS)(
  '%p of a decorator is refused when the class is defined, with the name of the method',
  (options, says) => {
    expect(() => decorate('a', options)).toThrow(`On Orders.pay, the lock option ${says}`);
  },
);

test.each(OPTIONS)('%p of an interceptor is refused when the class is defined', (options, says) => {
  expect(() => intercept('a', options)).toThrow(
    new RegExp(`^On FairLockInterceptor.*, the lock option ${says.split(' ')[0]} `),
  );
});

test.each([null, 5, 'x', Symbol('a'), () => 5])(
  'options of an interceptor that are no object (%p) are refused when the class is defined',
  (options) => {
    expect(() => intercept('a', options)).toThrow(LockConfigurationError);
    expect(() => intercept('a', options)).toThrow('The FairLockInterceptor options must be an object; ');
  },
);

test('an end of the hold that does not exist is refused when the class is defined', () => {
  expect(() => intercept('a', { until: 'reply' })).toThrow(
    "On FairLockInterceptor.for, the option until must be 'handler' or 'response'; it is 'reply'.",
  );
});

test('a decorator without arguments locks by the name of the method', () => {
  expect(() => decorate()).not.toThrow();
  expect(() => InjectFairLock()).not.toThrow();
});
