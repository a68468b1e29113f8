import { readFileSync } from 'node:fs';
import { inspect } from 'node:util';
import { jest } from '@jest/globals';
import * as errors from '../../../../lib/core/errors/errors.js';
import { withPage } from '../../../../lib/core/errors/pages.js';

const {
  FairLockError,
  LockAbortedError,
  LockConfigurationError,
  LockDeadlockError,
  LockHolderChangedError,
  LockKeyError,
  LockLostError,
  LockNotHeldError,
  LockNotReplicatedError,
  LockProtocolError,
  LockQueueFullError,
  LockShuttingDownError,
  LockStoreUnavailableError,
  LockTimeoutError,
} = errors;

const KEY = 'user:alice@example.com';
const HOLDER = 'vm-1/12727/Billing.charge';

const ALL: readonly errors.FairLockError[] = [
  new LockTimeoutError(KEY, 5_000, { holder: HOLDER, heldFor: 10, ahead: 2 }),
  new LockTimeoutError(KEY, 0, { holder: HOLDER }),
  new LockAbortedError(KEY, new Error(HOLDER)),
  new LockQueueFullError(KEY, 5),
  new LockLostError(KEY, `${HOLDER} took it`),
  new LockNotHeldError(KEY),
  new LockDeadlockError(KEY, `${HOLDER} waits`),
  new LockHolderChangedError(KEY, 1, 2),
  new LockKeyError(`no ${KEY}`),
  new LockKeyError(`no ${KEY}`, {
    status: 400,
    message: 'No usable lock key could be derived from this request.',
  }),
  new LockStoreUnavailableError('timeout', `no answer from ${HOLDER} for ${KEY}`, new Error(HOLDER)),
  new LockNotReplicatedError(KEY, 1, 2, 100),
  new LockProtocolError(`${KEY} is in another format.`),
  new LockConfigurationError(`leaseTime for ${KEY}`, 'The leaseTime is too long.'),
  new LockShuttingDownError(KEY),
];

const SECRET = /alice|vm-1|12727|Billing/;
const MANIFEST = new URL('../../../../package.json', import.meta.url);
const { files: packed } = JSON.parse(readFileSync(MANIFEST, 'utf8')) as { files: string[] };
/** Their sentence says all. */
const WITHOUT_PAGE = ['ABORTED', 'CONFIGURATION'];

describe.each(ALL.map((error) => [error.name, error] as const))('%s', (_, error) => {
  test('tells a client no key, host or process: not by its message, its JSON, its extensions or its stack', () => {
    expect(error.message).toMatch(/^[A-Z].*\.$/);
    for (const shown of [error.message, JSON.stringify(error), inspect(error.extensions), error.stack]) {
      expect(shown).not.toMatch(SECRET);
    }
    expect(JSON.parse(JSON.stringify(error))).toMatchObject({
      statusCode: error.status,
      code: error.code,
      message: error.message,
    });
  });

  test('tells an operator all, where a logger inspects it', () => {
    expect(error.details).toContain(KEY);
    expect(inspect(error)).toContain(KEY);
  });

  test('ends with the page to read, which is packed, unless its sentence says all', () => {
    const [, page] = / See nestjs-fair-lock\/(docs\/[\w-]+\.md)#[\w-]+\.$/.exec(error.details) ?? [];
    expect(error.details.includes('.md')).toBe(page !== undefined);
    if (WITHOUT_PAGE.includes(error.code)) expect(page).toBeUndefined();
    else expect(packed).toContain(page);
  });
});

test('a sentence names a page only once', () => {
  const sentence = withPage('A key is missing.', 'service#acquire');
  expect(new LockKeyError(sentence).details).toBe(sentence);
});

test('an error names the key where it is logged as a text, and not in its message', () => {
  const error = new LockTimeoutError('order:42', 1_000);
  expect(String(error)).toContain('"order:42"');
  expect(error.message).not.toContain('order:42');
});

test('a timeout says how long the wait was, and names the holder for operators', () => {
  const error = new LockTimeoutError(KEY, 5_000, { holder: HOLDER, heldFor: 61_000, ahead: 2 });
  expect(error.message).toBe('The lock was not granted within 5000 ms.');
  expect(error.details).toBe(
    `Gave up waiting for the lock "${KEY}" after 5 s, held by ${HOLDER} for 61 s, 2 ahead. ` +
      'The call has left the queue. The holder may be slow, stuck or dead. See nestjs-fair-lock/docs/troubleshooting.md#calls-give-up-423.',
  );
  expect(new LockTimeoutError(KEY, 0).message).toBe('The lock is busy.');
});

test.each([
  [{ heldFor: 6 }, 'The lock was handed on meanwhile: more calls ask for it than it can serve. '],
  [{ heldFor: 4_000 }, 'The holder may be slow, stuck or dead.'],
  [
    { heldFor: 4_000, inside: ['b'] },
    'This call holds "b". If the holder waits for that, the two are deadlocked: ',
  ],
  [{ heldFor: 6, awayFor: 3_000 }, 'Redis did not serve locks for 3 s of that time'],
  [{ heldFor: 6, leaseLeft: 900 }, 'The process of the holder is gone'],
])(
  'a timeout says what a caller can do about it, by what is known of the holder: %j',
  (blockedBy, advice) => {
    expect(new LockTimeoutError(KEY, 5_000, { holder: HOLDER, ...blockedBy }).details).toContain(advice);
  },
);

test.each([
  [
    { used: 3, limit: 3, holder: HOLDER, heldFor: 2_000 },
    `: 3 of 3 permits are taken, the longest by ${HOLDER} for 2 s.`,
  ],
  [{ used: 1, limit: 2 }, ': 1 of 2 permits is taken.'],
])('a timeout at a lock with permits says how many are taken: %j', (blockedBy, sentence) => {
  expect(new LockTimeoutError(KEY, 0, blockedBy).details).toContain(`"${KEY}" is busy${sentence}`);
});

test('a timeout at a kept lock tells a client to come back when it is free', () => {
  expect(new LockTimeoutError(KEY, 0, { keptFor: 5_900 }).retryAfter).toBe(6);
  expect(new LockTimeoutError(KEY, 0, { keptFor: 20 }).retryAfter).toBe(1);
  expect(new LockTimeoutError(KEY, 0, { holder: HOLDER, heldFor: 90_000 }).retryAfter).toBe(1);
});

test.each(['\n', '\r\n', '\u0000', '\u001b[31m', '\u007f', '\u0085', '\u061c', '\u2028', '\u202e'])(
  'control characters (%j) of a key or a holder forge no line of a log',
  (control) => {
    const { details } = new LockTimeoutError(`k${control}`, 10, { holder: `vm/1/Pay${control}ERROR forged` });
    expect(details).not.toMatch(/[\p{Cc}\u061c\u2028\u2029\u202e]/u);
    expect(details).toContain('ERROR forged');
  },
);

describe('with a second copy of the package in the process', () => {
  let other: typeof errors;
  beforeAll(async () => {
    jest.resetModules();
    other = await import('../../../../lib/core/errors/errors.js');
    expect(other.LockTimeoutError).not.toBe(LockTimeoutError);
  });

  test('instanceof knows the errors of the other copy by their code', () => {
    const timeout: unknown = new other.LockTimeoutError('k', 5);
    expect(timeout).toBeInstanceOf(LockTimeoutError);
    expect(timeout).toBeInstanceOf(FairLockError);
    expect(timeout).not.toBeInstanceOf(LockLostError);
    expect(new LockTimeoutError('k', 5)).toBeInstanceOf(other.LockTimeoutError);
  });

  test('a class that an application derives has only its own instances', () => {
    class Derived extends LockTimeoutError {}
    expect(new Derived('k', 5)).toBeInstanceOf(Derived);
    expect(new Derived('k', 5)).toBeInstanceOf(LockTimeoutError);
    expect(new LockTimeoutError('k', 5)).not.toBeInstanceOf(Derived);
    expect(new other.LockTimeoutError('k', 5)).not.toBeInstanceOf(Derived);
  });

  test('what only looks like one of the errors is none', () => {
    for (const value of [undefined, null, 'WAIT_TIMEOUT', { code: 'WAIT_TIMEOUT' }, new Error('x')]) {
      expect(value).not.toBeInstanceOf(FairLockError);
      expect(value).not.toBeInstanceOf(LockTimeoutError);
    }
  });
});
