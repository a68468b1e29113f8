import { inspect } from 'node:util';
import { LockConfigurationError } from '../core/errors/errors.js';
import { withPage } from '../core/errors/pages.js';
import { wholeNumber, type NumberOption } from '../core/options/option-domains.js';
import {
  A_REDIS_URL,
  checkRedis,
  checkReplicas,
  DEFAULT_REDIS,
  falseOr,
  isUrl,
  numberOf,
  oneOf,
  type Check,
} from './option-checks.js';
import { type FairLockModuleOptions, type ResolvedFairLockOptions } from './options.js';

const DEFAULTS = {
  store: 'redis',
  keyPrefix: 'fairlock',
  waitTime: 45_000, // watchdogTimeout + livenessWindow, and a margin for the command that grants
  watchdogTimeout: 30_000,
  livenessWindow: 10_000,
  commandTimeout: 1_000,
  replicas: false,
  strict: false,
  maxQueue: Infinity,
  maxHold: Infinity,
  onLost: 'signal',
  reentrant: true,
  drainTimeout: 10_000,
  slowWait: 10_000,
  slowHold: 30_000,
  requestScope: 'handler',
  fairLockWaitTimeout: 300_000,
} satisfies FairLockModuleOptions;

const CHECKS: { readonly [Name in keyof FairLockModuleOptions]-?: Check } = {
  redis: checkRedis,
  store: oneOf('redis', 'redisson', 'memory'),
  keyPrefix: (value) =>
    typeof value === 'string' && value !== '' && !/[{}]/.test(value)
      ? undefined
      : 'a non-empty string without braces, which mark the part of a key that a Redis Cluster hashes',
  waitTime: numberOf('waitTime'),
  watchdogTimeout: numberOf('watchdogTimeout'),
  livenessWindow: numberOf('livenessWindow'),
  commandTimeout: numberOf('commandTimeout'),
  replicas: checkReplicas,
  strict: oneOf(true, false),
  maxLease: numberOf('maxLease'),
  maxQueue: numberOf('maxQueue'),
  maxHold: numberOf('maxHold'),
  onLost: oneOf('signal', 'reject'),
  reentrant: oneOf(true, false),
  drainTimeout: numberOf('drainTimeout'),
  slowWait: falseOr(numberOf('slowWait')),
  slowHold: falseOr(numberOf('slowHold')),
  requestScope: oneOf('handler', 'deep', false),
  fairLockWaitTimeout: numberOf('fairLockWaitTimeout'),
  lockWatchdogTimeout: numberOf('lockWatchdogTimeout'),
};

/**
 * Checks what the user gave and fills in the defaults.
 *
 * @throws LockConfigurationError with a sentence for the first option that cannot work; it never repeats a value that
 *   could hold a password
 */
export function resolveOptions(asked: FairLockModuleOptions): ResolvedFairLockOptions {
  refuseUnknown(asked);
  const given = withInherited(asked);
  const fromEnvironment = process.env['REDIS_URL'];
  const chosen = { redis: fromEnvironment || DEFAULT_REDIS, ...withoutUndefined(given) };
  for (const name of Object.keys(chosen) as (keyof typeof chosen)[]) {
    const expected = CHECKS[name](chosen[name]);
    if (expected === undefined) continue;
    if (name === 'redis' && given.redis === undefined) {
      refuse(
        `The environment variable REDIS_URL, used because the redis option is not set, must be ${A_REDIS_URL}.`,
      );
    }
    const found = name === 'redis' ? '' : `; it is ${withoutSecrets(chosen[name])}`;
    refuse(`The option ${name} must be ${expected}${found}.`);
  }
  const { redis, watchdogTimeout = DEFAULTS.watchdogTimeout, lockWatchdogTimeout = watchdogTimeout } = chosen;
  const whole = wholeNumbers({
    ...DEFAULTS,
    maxLease: lockWatchdogTimeout,
    ...chosen,
    redis: isUrl(redis) ? redis.href : redis,
    watchdogTimeout: lockWatchdogTimeout,
    lockWatchdogTimeout,
  });
  refuseContradictions(whole, given);
  return whole;
}

/** Rounds all numbers of checked options up to whole ones. */
function wholeNumbers(options: ResolvedFairLockOptions): ResolvedFairLockOptions {
  const numbers = Object.entries(options).map(([name, value]) => [
    name,
    typeof value === 'number' ? wholeNumber(name as NumberOption, value) : value,
  ]);
  const whole = Object.fromEntries(numbers) as ResolvedFairLockOptions;
  if (!whole.replicas) return whole;
  const { min, timeout } = whole.replicas;
  return { ...whole, replicas: { min, timeout: timeout && wholeNumber('replicas.timeout', timeout) } };
}

/** What to know of options that work, though waiters give up before the lock of a holder that crashed is free; undefined: they do not. */
export function adviseOn(options: ResolvedFairLockOptions): string | undefined {
  const { store, waitTime, watchdogTimeout, livenessWindow } = options;
  const [times, recovery] =
    store === 'redisson'
      ? ['watchdogTimeout', watchdogTimeout]
      : ['watchdogTimeout + livenessWindow', watchdogTimeout + livenessWindow];
  if (store === 'memory' || waitTime > recovery) return undefined;
  return withPage(
    `waitTime (${waitTime} ms) does not exceed ${times} (${recovery} ms): ` +
      'when a holder crashes, those that wait for its lock might give up before it is free. If they should outlast a crash, raise waitTime, or ' +
      'lower watchdogTimeout.',
    'configuration#how-long-a-call-waits',
  );
}

/** @throws LockConfigurationError for a value that is not an object of options, such as a promise of them */
export function requireObject(given: unknown): asserts given is object {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    refuse(`The options must be an object; they are ${withoutSecrets(given)}.`);
  }
  if (given instanceof Promise) {
    refuse('The options are a Promise: use FairLockModule.forRootAsync() with a useFactory that returns it.');
  }
}

/** The options as own properties, which alone are copied: one that a class gives by a getter would silently mean its default. */
export function withInherited<Options extends object>(given: Options): Options {
  const all = { ...given };
  for (const name of [...Object.keys(CHECKS), ...NEXT_TO_FACTORY] as (keyof Options & string)[])
    if (name in given) all[name] = given[name];
  return all;
}

/** The options that are set next to a factory, not in its result. */
const NEXT_TO_FACTORY: readonly string[] = ['name', 'isGlobal', 'filter'];

function refuseUnknown(given: unknown): asserts given is FairLockModuleOptions {
  requireObject(given);
  for (const name of Object.keys(given)) {
    if (Object.hasOwn(CHECKS, name)) continue;
    if (NEXT_TO_FACTORY.includes(name)) {
      refuse(
        `The option ${name} must be known before the options are created: set it next to useFactory, not in its result.`,
      );
    }
    refuse(`Unknown option ${inspect(name)}. The options are: ${Object.keys(CHECKS).join(', ')}.`);
  }
}

function withoutUndefined(given: FairLockModuleOptions): Partial<ResolvedFairLockOptions> {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

/** The options that only one of the stores has. */
const ONLY_FOR = {
  replicas: 'redis',
  strict: 'redis',
  fairLockWaitTimeout: 'redisson',
  lockWatchdogTimeout: 'redisson',
} as const;

/** Of these, the ones that are set to protect locks. */
const PROTECTS: readonly string[] = ['replicas', 'strict'];
const NOTHING = ', so it would protect nothing';

function refuseContradictions(options: ResolvedFairLockOptions, given: FairLockModuleOptions): void {
  for (const name of Object.keys(ONLY_FOR) as (keyof typeof ONLY_FOR)[]) {
    if (given[name] && options.store !== ONLY_FOR[name]) {
      const { store } = options;
      refuse(
        `The option ${name} has no effect with store: '${store}'${PROTECTS.includes(name) ? NOTHING : ''}: remove it, or set ` +
          `store: '${ONLY_FOR[name]}'.`,
      );
    }
  }
  refuseSlowAnswers(options);
  refuseStrict(options, given);
  if (given.keyPrefix !== undefined && options.store === 'redisson') {
    refuse(
      "The option keyPrefix is not for store: 'redisson': Redisson uses names unchanged, so Java would not find these locks.",
    );
  }
  if (given.livenessWindow !== undefined && options.store === 'redisson') {
    refuse(
      "The option livenessWindow is not for store: 'redisson': Redisson cannot tell whether a waiter is alive. A dead one blocks the " +
        'lock until its wait time has elapsed, so remove the option and set finite wait times (waitTime).',
    );
  }
  if (given.lockWatchdogTimeout !== undefined && given.watchdogTimeout !== undefined) {
    refuse('The options lockWatchdogTimeout and watchdogTimeout mean the same: set only one.');
  }
}

/** Rejects timeouts of commands that are not shorter than the lease and the window which the commands keep alive. */
function refuseSlowAnswers({ store, replicas, commandTimeout, ...options }: ResolvedFairLockOptions): void {
  const timeout = replicas ? (replicas.timeout ?? commandTimeout) : 0;
  for (const window of ['watchdogTimeout', 'livenessWindow'] as const) {
    if (store === 'memory' || (store === 'redisson' && window === 'livenessWindow')) continue;
    const limit = `must be below ${window} (${options[window]} ms), otherwise`;
    if (commandTimeout >= options[window]) {
      refuse(
        `commandTimeout (${commandTimeout} ms) ${limit} a single slow response would cost the lock or the place in the queue.`,
      );
    }
    if (timeout >= options[window]) {
      refuse(`replicas.timeout (${timeout} ms) ${limit} a lease would expire before it is confirmed.`);
    }
  }
}

function refuseStrict(
  { strict, maxLease, watchdogTimeout }: ResolvedFairLockOptions,
  given: FairLockModuleOptions,
): void {
  if (!strict && given.maxLease !== undefined) {
    refuse(`The option maxLease has no effect without strict${NOTHING}: remove it, or set strict: true.`);
  }
  if (strict && watchdogTimeout > maxLease) {
    refuse(
      `maxLease (${maxLease} ms) must not be below watchdogTimeout (${watchdogTimeout} ms): ` +
        'a new primary assumes every lease has expired after maxLease.',
    );
  }
}

/** A value as a sentence shows it; an address is not repeated. */
function withoutSecrets(value: unknown): string {
  const text = inspect(value, { depth: 0 });
  return /:\/\/|password/i.test(text)
    ? 'an address, which is not repeated here (it may hold a password)'
    : text;
}

function refuse(sentence: string): never {
  throw new LockConfigurationError(sentence);
}
