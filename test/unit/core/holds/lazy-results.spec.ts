/** Results that work when they are read, which would be after the release. */
import { PassThrough, Readable } from 'node:stream';
import { defer, Subject } from 'rxjs';
import { createFairLock, type StandaloneFairLock } from '../../../../lib/standalone/index.js';
import { eventually, SOON } from '../../../support/waiting.js';

let log: string[] = [];
const work = async (): Promise<string> => {
  log.push('worked');
  return 'done';
};

const LAZY: readonly (readonly [kind: string, make: () => unknown, says: string])[] = [
  ['an Observable', () => defer(work), 'an Observable, which works when it is subscribed'],
  ['a Subject', () => new Subject(), 'an Observable'],
  [
    'an async generator',
    () =>
      (async function* () {
        yield await work();
      })(),
    'an async generator',
  ],
  [
    'a generator',
    () =>
      (function* () {
        yield work();
      })(),
    'a generator, which works when it is iterated',
  ],
  [
    'what a helper of iterators returns', // as `generator.map(work)`, from Node 22 on
    () => ({
      next: () => ({ value: work(), done: false }),
      return: () => ({ done: true }),
      [Symbol.iterator]() {
        return this;
      },
    }),
    'a generator, which works when it is iterated',
  ],
  [
    'a stream of Node',
    () =>
      Readable.from(
        (async function* () {
          yield await work();
        })(),
      ),
    'a stream, which is read later',
  ],
  ['a duplex stream of Node', () => new PassThrough(), 'a stream'],
  ['a stream of the web', () => new Response('a').body, 'a stream'],
];

/** Answers every property, as the mocks of some libraries do. */
const mock: object = new Proxy({}, { get: (_, name) => (name === 'then' ? undefined : () => 1) });

const DONE: readonly (readonly [kind: string, result: unknown])[] = [
  ['nothing', undefined],
  ['a list', [1, 2]],
  ['a map', new Map([[1, 2]])],
  ['the iterator of a map', new Map([[1, 2]]).values()],
  ['a function', work],
  ['a mock that answers every property', mock],
  ['a response', new Response('a')],
  ['a stream in an object', { stream: Readable.from(['a']) }],
  ['an object with a method subscribe', { subscribe: () => undefined }],
];

let locks: StandaloneFairLock;
beforeEach(async () => {
  log = [];
  locks = await createFairLock({ store: 'memory' });
});
afterEach(() => locks.close());

describe.each(LAZY)('%s', (_, make, says) => {
  const REFUSED = { code: 'CONFIGURATION', message: expect.stringContaining(says) as string };

  test.each([
    ['', make],
    [', out of a promise,', async () => make()],
  ])('as the result of withLock%s is refused, before it works', async (_how, section) => {
    await expect(locks.withLock('k', section)).rejects.toMatchObject(REFUSED);
    expect(log).toEqual([]);
    expect(await locks.isLocked('k')).toBe(false);
  });

  test('as the result of lock.run is refused, also out of a promise', async () => {
    await using lock = await locks.acquire('k');
    expect(() => lock.run(make)).toThrow(expect.objectContaining(REFUSED) as Error);
    await expect(lock.run(async () => make())).rejects.toMatchObject(REFUSED);
    await using nested = await lock.run(async () => locks.tryAcquire('k'));
    expect(() => nested?.run(make)).toThrow(expect.objectContaining(REFUSED) as Error);
  });
});

test.each(DONE)('%s may be the result', async (_, result) => {
  const inPlace = (given: unknown): unknown => given;
  const got: unknown[] = [];
  await locks.withLock('k', async (lock) => {
    got.push(lock.run(() => inPlace(result)));
    got.push(await lock.run(async () => inPlace(result)));
  });
  got.push(await locks.withLock('k', () => inPlace(result)));
  expect(got.every((each) => each === result)).toBe(true);
});

test.each([
  [undefined, 'undefined'],
  [null, 'null'],
  ['x', 'a string'],
  [{}, 'an object'],
])('what a hold cannot run (%p) is refused', async (code, named) => {
  const needs = (of: string) =>
    `${of} needs a function to run while the lock is held, but got ${named}: write ${of}(`;
  await using lock = await locks.acquire('k'); // for which the other does not wait
  await expect(locks.withLock('k', code as never)).rejects.toThrow(needs('withLock'));
  expect(() => lock.run(code as never)).toThrow(needs('lock.run'));
});

test('a promise in place of a section is refused, because its work has begun without the lock', async () => {
  // Jest fails the test for a rejection without a handler.
  const failing = (): never => Promise.reject(new Error('it failed')) as never;
  await expect(locks.withLock('k', failing())).rejects.toThrow(
    'withLock got a promise, whose work has begun without the lock: write withLock(key, () => work(), options).',
  );
  await using lock = await locks.acquire('k');
  expect(() => lock.run(failing())).toThrow(
    'lock.run got a promise, whose work has begun without the lock: write lock.run(() => work()).',
  );
  await new Promise(setImmediate);
});

test('a query that begins when it is awaited runs inside', async () => {
  const query = {
    then: (settle: (value: unknown) => void) => settle(locks.current('k') && 'inside'),
    [Symbol.asyncIterator]: () => ({}),
  };
  expect(await locks.withLock('k', () => query as unknown as Promise<string>)).toBe('inside');
});

test('a promise with members of its own keeps them', async () => {
  class Cancellable extends Promise<number> {
    cancel(): string {
      return 'cancelled';
    }
  }
  await using lock = await locks.acquire('k');
  const promise = lock.run(() => new Cancellable((resolve) => resolve(1)));
  expect(promise.cancel()).toBe('cancelled');
});

test('a leader whose section returns one is warned of', async () => {
  const warnings: string[] = [];
  const leading = await createFairLock({ store: 'memory' }, (message) => warnings.push(message));
  const leadership = leading.lead('k', async function* () {
    yield await work();
  });
  await eventually(() => warnings.length > 0, SOON, 'a warning');
  expect(warnings[0]).toContain('The function of lead returned an async generator');
  await leadership.stop();
  await leading.close();
});
