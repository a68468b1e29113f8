import { readFileSync } from 'node:fs';
import { jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import fc from 'fast-check';
import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { type FairLockModuleOptions, LockConfigurationError } from 'nestjs-fair-lock';
import { describeDomain, type NumberOption } from '../../../../lib/core/options/option-domains.js';
import { engineOptions } from '../../../../lib/setup/engine-options.js';
import { adviseOn, resolveOptions } from '../../../../lib/setup/option-resolution.js';
import { FairLockRegistration } from '../../../../lib/nest/module/fair-lock.registration.js';
import { type StoreFactory } from '../../../../lib/setup/store-factory.js';
import { NUMBER_OPTIONS, valuesOf, valuesOutside } from '../../../support/option-values.js';
import { MemoryLockStore } from '../../../../lib/stores/memory/memory-lock-store.js';

const resolve = (options: object) => resolveOptions(options);
const refusal = (options: unknown): string => {
  try {
    resolveOptions(options as FairLockModuleOptions);
  } catch (error) {
    expect(error).toBeInstanceOf(LockConfigurationError);
    return (error as Error).message;
  }
  throw new Error('was not refused');
};

describe('the options', () => {
  const before = process.env['REDIS_URL'];
  afterEach(() => {
    if (before === undefined) delete process.env['REDIS_URL'];
    else process.env['REDIS_URL'] = before;
  });

  test('undefined is as good as absent', () => {
    expect(resolve({ waitTime: undefined, store: undefined })).toEqual(resolve({}));
  });

  test('Redis is at REDIS_URL where the environment says so', () => {
    process.env['REDIS_URL'] = 'redis://cache:6380';
    expect(resolve({}).redis).toBe('redis://cache:6380');
    expect(resolve({ redis: 'redis://other:6379' }).redis).toBe('redis://other:6379');
  });

  test('a REDIS_URL that is no URL is named, and not repeated', () => {
    process.env['REDIS_URL'] = 'cache:secret';
    const message = refusal({});
    expect(message).toMatch(
      /^The environment variable REDIS_URL, used because the redis option is not set, must be a redis:/,
    );
    expect(message).not.toContain('secret');
  });

  test('a warning about the server says that nothing names it', () => {
    delete process.env['REDIS_URL'];
    const warned = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
    const warnings = (given: FairLockModuleOptions): unknown => {
      const createStore: StoreFactory = (_, onWarning) => {
        onWarning('Redis did not answer.');
        return new MemoryLockStore();
      };
      new FairLockRegistration('default', given, new ModulesContainer(), createStore).createService();
      return warned.mock.lastCall?.[0];
    };
    expect(warnings({})).toBe(
      'Redis did not answer. Using redis://localhost:6379 because neither the redis option nor REDIS_URL is set. See nestjs-fair-lock/docs/troubleshooting.md#warnings-at-the-start.',
    );
    expect(warnings({ redis: 'redis://h' })).toBe(
      'Redis did not answer. See nestjs-fair-lock/docs/troubleshooting.md#warnings-at-the-start.',
    );
    process.env['REDIS_URL'] = 'redis://cache:6380';
    expect(warnings({})).toBe(
      'Redis did not answer. See nestjs-fair-lock/docs/troubleshooting.md#warnings-at-the-start.',
    );
    warned.mockRestore();
  });

  test('Redis may be a URL, a socket, options, a client or a function', () => {
    const client = new Redis({ lazyConnect: true });
    const makeClient = () => client;
    for (const redis of [
      'redis://h',
      'rediss://:p@h:1',
      '/run/redis.sock',
      { host: 'h' },
      { port: 6380 },
      { sentinels: [{ host: 'h' }], name: 'main' },
      client,
      makeClient,
    ]) {
      expect(resolve({ redis }).redis).toBe(redis);
    }
    expect(resolve({ redis: new URL('redis://:p@h:1/2') }).redis).toBe('redis://:p@h:1/2');
  });

  test.each([
    'http://h',
    'localhost:6379',
    'redis://h:port',
    'redis://:100%@h',
    'redis://h/locks',
    '',
    5,
    null,
    ['redis://h'],
    new URL('http://h'),
  ])('Redis may not be %p', (redis) => {
    expect(refusal({ redis })).toMatch(/^The option redis must be a redis:\/\/ or rediss:\/\/ URL .*\.$/);
  });

  test.each([
    [{ url: 'redis://:s3cret@cache' }, 'an object with url, which ioredis does not know'],
    [
      { socket: { host: 'cache', port: 6379 }, password: 's3cret' },
      'an object with socket, which ioredis does not know',
    ],
    [{ nodes: [{ host: 'cache' }], port: 6379 }, 'an object with nodes, which ioredis does not know'],
    [{ rootNodes: [{ url: 'redis://cache' }] }, 'an object with rootNodes, which ioredis does not know'],
    [{ connection: { host: 'cache', password: 's3cret' } }, 'an object that names no server'],
    [{ redis: { host: 'cache', password: 's3cret' } }, 'an object that names no server'],
    [{ host: undefined, password: 's3cret', db: 3 }, 'an object that names no server'],
    [{}, 'an object that names no server'],
    [{ host: '' }, 'an object with an empty host'],
    [{ host: '', port: 6379 }, 'an object with an empty host'],
    [{ path: '' }, 'an object with an empty path'],
    [Promise.resolve(), 'a Promise, which must be awaited first'],
    [{ duplicate: () => undefined, isOpen: false, options: {} }, 'a client of another library'],
  ])('Redis may not be what would lead to localhost without a word: %j', (redis, found) => {
    const sentence = refusal({ redis });
    expect(sentence).toMatch(/^The option redis must be a redis:\/\/ .* ioredis options with host, /);
    expect(sentence).toContain(`; it is ${found}, so the locks would be on localhost.`);
    expect(sentence).not.toContain('s3cret');
  });

  test.each([
    [{ host: 'cache', port: Number('x') }, 'port is NaN'],
    [{ host: 'cache', port: '63x9' }, "port is '63x9'"],
    [{ port: 65_536 }, 'port is 65536'],
    [{ host: 'cache', db: NaN }, 'db is NaN'],
  ])('Redis may not be %j, with which a client connects to nothing', (redis, found) => {
    expect(refusal({ redis: redis as RedisOptions })).toContain(`; its ${found}.`);
  });

  test('the port and the database of Redis can be text, as from the environment', () => {
    const redis = { host: 'cache', port: '6379', db: '0' } as unknown as RedisOptions;
    expect(resolveOptions({ redis }).redis).toMatchObject(redis);
  });

  test.each([Redis, Cluster, class Cache {}])('Redis may not be the class of a client: %p', (redis) => {
    const { name } = redis;
    expect(refusal({ redis })).toContain(
      `or a function of the role; it is the class ${name}: write new ${name}().`,
    );
  });

  test('a password in an address that is refused is not repeated', () => {
    expect(refusal({ redis: 'http://user:s3cret@cache:6379' })).not.toContain('s3cret');
    expect(refusal({ redis: 'redis://user:s3cret@cache:port' })).not.toContain('s3cret');
    expect(refusal({ redis: ['redis://user:s3cret@cache'] })).not.toContain('s3cret');
    expect(refusal({ redis: 'redis://user:s3cret%@cache' })).not.toContain('s3cret');
    expect(refusal({ store: 'redis://user:s3cret@cache' })).not.toContain('s3cret');
    expect(refusal('redis://user:s3cret@cache')).not.toContain('s3cret');
    expect(refusal(['/run/redis.sock?password=s3cret'])).not.toContain('s3cret');
  });

  test.each([
    ['replicas', [true, 1, null, [], {}, { min: 1, max: 2 }]],
    ['strict', ['yes', 1, null]],
    ['onLost', ['throw', true, null]],
    ['reentrant', ['yes', 0]],
    ['store', ['sqlite', null]],
    ['keyPrefix', ['', 'a{b', 'a}', 5]],
    ['requestScope', ['true', 1]],
  ])('%s is refused with a sentence where it is one of %p', (name, values) => {
    for (const value of values) {
      const message = refusal({ [name]: value });
      expect(message).toMatch(new RegExp(`^The option ${name} must be .*; it is .*\\.$`));
    }
  });

  test('the engine does not get the address of Redis, nor any other option of a store', () => {
    const options = engineOptions(
      resolveOptions({ redis: 'redis://user:s3cret@cache:6379' }),
      () => undefined,
    );
    expect(Object.keys(options).sort()).toEqual(
      [
        ...['waitTime', 'maxQueue', 'maxHold', 'onLost', 'reentrant', 'requestScope'],
        ...['drainTimeout', 'lease', 'slowWait', 'slowHold', 'onWarning'],
      ].sort(),
    );
  });

  test('an unknown option is reported, with those that exist', () => {
    expect(refusal({ waitTimeout: 5 })).toMatch(
      /^Unknown option 'waitTimeout'\. The options are: redis, store, /,
    );
    expect(refusal({ toString: 5 })).toMatch(/^Unknown option 'toString'/);
  });

  test('name and isGlobal out of a factory are told to stand beside it', () => {
    expect(refusal({ name: 'billing' })).toMatch(
      /^The option name must be known before the options are created/,
    );
  });

  test.each([null, undefined, 'redis://h', [], 5])('options may not be %p', (options) => {
    expect(refusal(options)).toMatch(/^The options must be an object; they are /);
  });

  test('a command may not take as long as a lease or a silence', () => {
    expect(refusal({ commandTimeout: 3_000, watchdogTimeout: 3_000 })).toContain(
      'must be below watchdogTimeout',
    );
    expect(refusal({ commandTimeout: 3_000, livenessWindow: 2_000 })).toContain(
      'must be below livenessWindow',
    );
  });

  test('replicas are for the native store, and must confirm before a lease could be over', () => {
    const replicas = { min: 1 };
    expect(resolve({ replicas }).replicas).toEqual(replicas);
    expect(refusal({ replicas, store: 'redisson' })).toContain(
      "The option replicas has no effect with store: 'redisson', so it would protect nothing: remove it, or set store: 'redis'.",
    );
    expect(refusal({ replicas, store: 'memory' })).toContain(
      "no effect with store: 'memory', so it would protect nothing",
    );
    expect(refusal({ replicas: { min: 1, timeout: 10_000 } })).toContain('must be below livenessWindow');
    expect(refusal({ replicas: { min: 1, timeout: 5_000 }, watchdogTimeout: 5_000 })).toContain(
      'must be below watchdogTimeout',
    );
  });

  test('strict is for the native store, and no lease is longer than maxLease', () => {
    expect(resolve({ strict: true, watchdogTimeout: 20_000 }).maxLease).toBe(20_000);
    expect(resolve({ strict: true, maxLease: 40_000 }).maxLease).toBe(40_000);
    expect(refusal({ strict: true, store: 'redisson' })).toContain(
      "The option strict has no effect with store: 'redisson', so it would protect nothing: remove it, or set store: 'redis'.",
    );
    expect(refusal({ strict: true, store: 'memory' })).toContain(
      "no effect with store: 'memory', so it would protect nothing",
    );
    expect(refusal({ maxLease: 40_000 })).toContain(
      'The option maxLease has no effect without strict, so it would protect nothing: remove it, or set strict: true.',
    );
    expect(refusal({ strict: true, maxLease: 20_000 })).toContain(
      'must not be below watchdogTimeout (30000 ms)',
    );
  });

  test("Redisson's names are for Redisson's store, where lockWatchdogTimeout is the lease", () => {
    expect(refusal({ fairLockWaitTimeout: 5_000 })).toContain(
      "The option fairLockWaitTimeout has no effect with store: 'redis': remove it, or set store: 'redisson'.",
    );
    expect(refusal({ lockWatchdogTimeout: 5_000 })).toContain("no effect with store: 'redis': remove it");
    expect(refusal({ store: 'redisson', lockWatchdogTimeout: 5_000, watchdogTimeout: 6_000 })).toContain(
      'set only one',
    );
    expect(resolve({ store: 'redisson', lockWatchdogTimeout: 5_000 }).watchdogTimeout).toBe(5_000);
    expect(refusal({ store: 'redisson', keyPrefix: 'x' })).toContain("not for store: 'redisson'");
  });

  test("livenessWindow is not for Redisson's store, and limits nothing there", () => {
    expect(refusal({ store: 'redisson', livenessWindow: 5_000 })).toMatch(
      /livenessWindow is not for store: 'redisson'.*waitTime/,
    );
    expect(resolve({ store: 'redisson', commandTimeout: 20_000 }).commandTimeout).toBe(20_000);
    expect(refusal({ store: 'redisson', commandTimeout: 30_000 })).toContain('must be below watchdogTimeout');
  });
});

describe('a wait that a crashed holder would outlast', () => {
  test('is told where holders can crash', () => {
    expect(adviseOn(resolve({ waitTime: 40_001 }))).toBeUndefined();
    expect(adviseOn(resolve({ waitTime: 40_000 }))).toMatch(
      /^waitTime \(40000 ms\) does not exceed .*\(40000 ms\)/,
    );
    expect(adviseOn(resolve({ waitTime: 30_001, store: 'redisson' }))).toBeUndefined();
    const redisson = { waitTime: 20_000, watchdogTimeout: 20_000, store: 'redisson' } as const;
    expect(adviseOn(resolve(redisson))).toMatch(
      /^waitTime \(20000 ms\) does not exceed watchdogTimeout \(20000 ms\)/,
    );
    expect(adviseOn(resolve({ waitTime: 5, store: 'memory' }))).toBeUndefined();
  });

  test('is no default, of any store', () => {
    for (const store of ['redis', 'redisson', 'memory'] as const)
      expect(adviseOn(resolve({ store }))).toBeUndefined();
  });
});

/** The numbers of the module, each with options that it can stand beside. */
const BESIDE: Partial<Record<NumberOption, object>> = {
  waitTime: {},
  maxQueue: {},
  maxHold: {},
  drainTimeout: {},
  slowWait: {},
  slowHold: {},
  watchdogTimeout: { store: 'memory' },
  livenessWindow: { store: 'memory' },
  commandTimeout: { store: 'memory' },
  maxLease: { strict: true, watchdogTimeout: 2, livenessWindow: 2, commandTimeout: 0.5 },
  fairLockWaitTimeout: { store: 'redisson' },
  lockWatchdogTimeout: { store: 'redisson', commandTimeout: 0.5 },
};
const NUMBERS = Object.keys(BESIDE) as NumberOption[];

describe('the numbers of the module', () => {
  test('are all in the table of domains', () => {
    const module = [
      ...NUMBERS,
      'replicas.min',
      'replicas.timeout',
      'leaseTime',
      'holdAtLeast',
      'permits',
      'weight',
      'query.timeout',
    ];
    expect(module.sort()).toEqual([...NUMBER_OPTIONS].sort());
  });

  test.each(NUMBERS)('%s is a whole number, never below what was given', (name) => {
    fc.assert(
      fc.property(valuesOf(name), (value) => {
        // A lease or a window of 1 ms is one that no command can be below.
        if ((name === 'lockWatchdogTimeout' || name === 'maxLease') && value <= 1) return;
        const whole = value === Infinity ? value : Math.ceil(value);
        expect(resolve({ ...BESIDE[name], [name]: value })).toHaveProperty(name, whole);
      }),
    );
  });

  test.each(NUMBERS)('%s is refused outside its domain', (name) => {
    fc.assert(
      fc.property(valuesOutside(name), (value) => {
        expect(refusal({ ...BESIDE[name], [name]: value })).toMatch(
          new RegExp(
            `^The option ${name} must be a .* from \\d+ to 2147483647(, or Infinity)?; it is .*\\.$`,
          ),
        );
      }),
    );
  });

  test('those of replicas are as all others', () => {
    const times = { store: 'redis', watchdogTimeout: 2 ** 31 - 1, livenessWindow: 2 ** 31 - 1 };
    fc.assert(
      fc.property(valuesOf('replicas.min'), valuesOf('replicas.timeout'), (min, timeout) => {
        if (timeout > 2 ** 31 - 2) return; // must be below the lease
        expect(resolve({ ...times, replicas: { min, timeout } }).replicas).toEqual({
          min,
          timeout: Math.ceil(timeout),
        });
      }),
    );
    fc.assert(
      fc.property(valuesOutside('replicas.min'), (min) => {
        expect(refusal({ replicas: { min } })).toMatch(/^The option replicas must be false, or /);
      }),
    );
    fc.assert(
      fc.property(valuesOutside('replicas.timeout'), (timeout) => {
        expect(refusal({ replicas: { min: 1, timeout } })).toMatch(/^The option replicas must be false, or /);
      }),
    );
  });

  test('are in docs/configuration.md with their ranges', () => {
    const docs = readFileSync(new URL('../../../../docs/configuration.md', import.meta.url), 'utf8');
    const lines = docs.split('\n');
    for (const name of NUMBER_OPTIONS) {
      const range = describeDomain(name)
        .replace(' to 2147483647', '')
        .replace('a number of milliseconds', 'ms')
        .replace('a whole number', 'number');
      const [row = ''] = lines.filter((line) => line.startsWith(`| \`${name}\` |`));
      expect(row.replaceAll('`', '')).toContain(`| ${range}`);
    }
  });
});
