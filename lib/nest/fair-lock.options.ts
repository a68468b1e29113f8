import { inspect } from 'node:util';
import { LockConfigurationError } from '../core/errors.js';
import {
  checkRedis,
  checkReplicas,
  count,
  milliseconds,
  oneOf,
  type Check,
} from './fair-lock.option-checks.js';
import { type RedisSource } from '../stores/redis-client/redis-source.js';

/** What `FairLockModule.forRoot` takes. Everything has a default; times are milliseconds. */
export interface FairLockModuleOptions {
  /**
   * Where Redis is: a URL, ioredis options, an existing `Redis` or `Cluster` (never quit and never reconfigured: the
   * lock makes its own connections from it), or a function of the role (`'commands'`, `'subscriber'`, `'replication'`)
   * that makes a client, for credentials that rotate. Default: the environment's `REDIS_URL`, else
   * `redis://localhost:6379`.
   */
  redis?: RedisSource | undefined;
  /**
   * Where the lines are kept. `redis` (default): the native protocol. `redisson`: the wire format of Redisson's
   * `getFairLock`, to share locks with Java; no fencing tokens. `memory`: in this process, for tests and single
   * instances.
   */
  store?: 'redis' | 'redisson' | 'memory' | undefined;
  /**
   * Before every key and channel in Redis, without braces: `fairlock` (default) makes `fairlock:{order:42}`. Not for
   * `redisson`.
   */
  keyPrefix?: string | undefined;
  /** How long a request stays in line, unless its call says otherwise; `Infinity`: for ever. Default 60,000. */
  waitTime?: number | undefined;
  /**
   * The lease: how long a lock outlives a holder that crashed. While the holder lives, the watchdog renews it.
   * Default 30,000.
   */
  watchdogTimeout?: number | undefined;
  /** How long a waiting process may be silent before it is passed over, without losing its place. Default 10,000. */
  livenessWindow?: number | undefined;
  /** Within which time Redis must answer a command. Default 1,000. */
  commandTimeout?: number | undefined;
  /**
   * Only for `redis`: a grant or a renewal counts only when `min` replicas have it, for which they have `timeout` ms
   * (default `commandTimeout`); else the request fails with LockNotReplicatedError, and a held lock becomes uncertain.
   * Costs a third connection, and a round trip and a `WAIT` for each handoff. Default false. See docs/replication.md.
   */
  replicas?: { readonly min: number; readonly timeout?: number | undefined } | false | undefined;
  /**
   * Only for `redis`: a server that has just become the primary, or lost its data, gives no lock before `maxLease` has
   * passed, so that a holder whom it does not know runs out first. All clients of a `keyPrefix` must be strict, or none:
   * others are refused. Costs `maxLease` without new grants after each failover, restart and at the first start. Default
   * false. See docs/replication.md.
   */
  strict?: boolean | undefined;
  /** Only with `strict`: the longest lease of any client; a longer `leaseTime` is refused. Default `watchdogTimeout`. */
  maxLease?: number | undefined;
  /** How many requests may wait for one lock before a new one is refused with 503. Default `Infinity`. */
  maxQueue?: number | undefined;
  /**
   * After which time the signal of a hold aborts and its renewing stops, so that a hung section cannot hold for ever.
   * Default `Infinity`.
   */
  maxHold?: number | undefined;
  /**
   * What a caller learns when its lock was lost while the method ran. `signal` (default): `lock.signal` aborts, a
   * warning is logged, and the method's result goes through. `reject`: the caller gets the LockLostError even if the
   * method then succeeds, and a stream ends with it.
   */
  onLost?: 'signal' | 'reject' | undefined;
  /** Whether a flow that holds a key may lock it again without waiting for itself. Default true. */
  reentrant?: boolean | undefined;
  /**
   * How long holders may go on after a shutdown began; then their signals abort and streams held by a lock end.
   * Default 10,000.
   */
  drainTimeout?: number | undefined;
  /**
   * Whether a client that disconnects leaves the line: every HTTP (also GraphQL) and WebSocket request runs in an async
   * scope that knows when its client has gone. Default true.
   */
  requestScope?: boolean | undefined;
  /** Only for `redisson`: the wait time that a place in line is reckoned with, Redisson's name. Default 300,000. */
  fairLockWaitTimeout?: number | undefined;
  /** Only for `redisson`: Redisson's name for `watchdogTimeout`, which it replaces. */
  lockWatchdogTimeout?: number | undefined;
}

/** What a class given as `useClass` or `useExisting` to `FairLockModule.forRootAsync` implements. */
export interface FairLockOptionsFactory {
  createFairLockOptions(): FairLockModuleOptions | Promise<FairLockModuleOptions>;
}

type Resolved<Options> = { readonly [Name in keyof Options]-?: Exclude<Options[Name], undefined> };

/** The options with every default filled in, all checked. */
export type ResolvedFairLockOptions = Resolved<FairLockModuleOptions>;

const DEFAULTS = {
  store: 'redis',
  keyPrefix: 'fairlock',
  waitTime: 60_000,
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
  requestScope: true,
  fairLockWaitTimeout: 300_000,
} satisfies FairLockModuleOptions;

const CHECKS: { readonly [Name in keyof FairLockModuleOptions]-?: Check } = {
  redis: checkRedis,
  store: oneOf('redis', 'redisson', 'memory'),
  keyPrefix: (value) =>
    typeof value === 'string' && value !== '' && !/[{}]/.test(value)
      ? undefined
      : 'a text without braces, which mark the part of a key that a Redis Cluster hashes',
  waitTime: milliseconds(0, true),
  watchdogTimeout: milliseconds(1, false),
  livenessWindow: milliseconds(1, false),
  commandTimeout: milliseconds(1, false),
  replicas: checkReplicas,
  strict: oneOf(true, false),
  maxLease: milliseconds(1, false),
  maxQueue: count(true),
  maxHold: milliseconds(1, true),
  onLost: oneOf('signal', 'reject'),
  reentrant: oneOf(true, false),
  drainTimeout: milliseconds(0, false),
  requestScope: oneOf(true, false),
  fairLockWaitTimeout: milliseconds(1, false),
  lockWatchdogTimeout: milliseconds(1, false),
};

/**
 * Checks what the user gave and fills in the defaults.
 *
 * @throws LockConfigurationError with a sentence for the first option that cannot work; it never repeats a value that
 *   could hold a password
 */
export function resolveOptions(given: FairLockModuleOptions): ResolvedFairLockOptions {
  refuseUnknown(given);
  const chosen = withoutUndefined(given);
  const { watchdogTimeout = DEFAULTS.watchdogTimeout, lockWatchdogTimeout = watchdogTimeout } = chosen;
  const options: ResolvedFairLockOptions = {
    redis: process.env['REDIS_URL'] || 'redis://localhost:6379',
    ...DEFAULTS,
    maxLease: lockWatchdogTimeout,
    ...chosen,
    watchdogTimeout: lockWatchdogTimeout,
    lockWatchdogTimeout,
  };
  for (const name of Object.keys(CHECKS) as (keyof typeof CHECKS)[]) {
    const expected = CHECKS[name](options[name]);
    if (expected === undefined) continue;
    const found = name === 'redis' ? '' : `; it is ${inspect(options[name], { depth: 0 })}`;
    refuse(`The option ${name} must be ${expected}${found}.`);
  }
  refuseContradictions(options, given);
  return options;
}

/** What an operator should think about although it can work; undefined if nothing. */
export function adviseOn(options: ResolvedFairLockOptions): string | undefined {
  const { store, waitTime, watchdogTimeout, livenessWindow } = options;
  const recovery = watchdogTimeout + livenessWindow;
  if (store === 'memory' || waitTime > recovery) return undefined;
  return (
    `waitTime (${waitTime} ms) is not above watchdogTimeout + livenessWindow (${recovery} ms): ` +
    'when a holder crashes, everyone in line may time out before the lock is free again. Raise waitTime, or lower watchdogTimeout.'
  );
}

function refuseUnknown(given: unknown): asserts given is FairLockModuleOptions {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    refuse(`The options must be an object; they are ${inspect(given, { depth: 0 })}.`);
  }
  for (const name of Object.keys(given)) {
    if (Object.hasOwn(CHECKS, name)) continue;
    if (name === 'name' || name === 'isGlobal') {
      refuse(
        `The option ${name} must be known before the options are made: give it beside useFactory, not in its result.`,
      );
    }
    refuse(`There is no option ${inspect(name)}. The options are: ${Object.keys(CHECKS).join(', ')}.`);
  }
}

function refuseContradictions(options: ResolvedFairLockOptions, given: FairLockModuleOptions): void {
  for (const window of ['watchdogTimeout', 'livenessWindow'] as const) {
    if (options.commandTimeout >= options[window] && options.store !== 'memory') {
      refuse(
        `commandTimeout (${options.commandTimeout} ms) must be below ${window} (${options[window]} ms), ` +
          'else one slow answer would cost the lock or the place in line.',
      );
    }
  }
  refuseReplicas(options);
  refuseStrict(options, given);
  for (const name of ['fairLockWaitTimeout', 'lockWatchdogTimeout'] as const) {
    if (given[name] !== undefined && options.store !== 'redisson') {
      refuse(`The option ${name} is only for store: 'redisson'; the store is '${options.store}'.`);
    }
  }
  if (given.keyPrefix !== undefined && options.store === 'redisson') {
    refuse(
      "The option keyPrefix is not for store: 'redisson': Redisson writes names as they are, so Java would not find these locks.",
    );
  }
  if (given.lockWatchdogTimeout !== undefined && given.watchdogTimeout !== undefined) {
    refuse('The options lockWatchdogTimeout and watchdogTimeout name the same thing: give one.');
  }
}

function refuseReplicas({ replicas, store, commandTimeout, ...options }: ResolvedFairLockOptions): void {
  if (!replicas) return;
  if (store !== 'redis') {
    refuse(`The option replicas is only for store: 'redis'; the store is '${store}'.`);
  }
  const { timeout = commandTimeout } = replicas;
  for (const window of ['watchdogTimeout', 'livenessWindow'] as const) {
    if (timeout >= options[window]) {
      refuse(
        `replicas.timeout (${timeout} ms) must be below ${window} (${options[window]} ms), ` +
          'else a lease would be over before it is confirmed.',
      );
    }
  }
}

function refuseStrict(
  { strict, store, maxLease, watchdogTimeout }: ResolvedFairLockOptions,
  given: FairLockModuleOptions,
): void {
  if (strict && store !== 'redis') {
    refuse(`The option strict is only for store: 'redis'; the store is '${store}'.`);
  }
  if (!strict && given.maxLease !== undefined) refuse('The option maxLease is only for strict: true.');
  if (strict && watchdogTimeout > maxLease) {
    refuse(
      `maxLease (${maxLease} ms) must not be below watchdogTimeout (${watchdogTimeout} ms): ` +
        'a new primary takes every lease for over after maxLease.',
    );
  }
}

function withoutUndefined(given: FairLockModuleOptions): Partial<ResolvedFairLockOptions> {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

function refuse(sentence: string): never {
  throw new LockConfigurationError(sentence);
}
