import { type RequestScope } from '../core/options/acquire-options.js';
import { type RedisSource } from '../stores/redis-client/connection/redis-source.js';

/**
 * The options of `FairLockModule.forRoot`. All have defaults. Times are milliseconds; a fraction of a millisecond counts as a whole
 * one. The largest number is 2,147,483,647 (24.8 days); some options also accept `Infinity`.
 */
export interface FairLockModuleOptions {
  /**
   * Where Redis is: a URL, ioredis options with `host`, `port`, `path` or `sentinels`, an existing `Redis` or `Cluster` (never quit and never reconfigured: the
   * lock makes its own connections from it), or a function of the role (`'commands'`, `'subscriber'`, `'replication'`)
   * that makes a client, for credentials that rotate. Default: the environment variable `REDIS_URL`, otherwise
   * `redis://localhost:6379`.
   */
  redis?: RedisSource | URL | undefined;
  /**
   * Where the queues are kept. `redis` (default): the native protocol. `redisson`: the wire format of Redisson's
   * `getFairLock`, to share locks with Java; no fencing tokens. `memory`: in this process, for tests and single
   * instances.
   */
  store?: 'redis' | 'redisson' | 'memory' | undefined;
  /**
   * Precedes every key and channel in Redis, without braces: `fairlock` (default) makes `fairlock:{order:42}`. Not for
   * `redisson`.
   */
  keyPrefix?: string | undefined;
  /**
   * How long a request stays in the queue, unless its call says otherwise: 0 (try once) or more, or `Infinity` (forever). Default 45,000:
   * below 60 s, the limit of many proxies, and more than `watchdogTimeout` and `livenessWindow` together, after which the lock of a
   * crashed holder is free. With less, waiters might give up before; a debug message at boot says so.
   */
  waitTime?: number | undefined;
  /**
   * The lease: how long a lock outlives a crashed holder. While the holder lives, the watchdog renews it.
   * At least 1. Default 30,000.
   */
  watchdogTimeout?: number | undefined;
  /**
   * How long a waiting process can be silent before it is skipped, without losing its place. Not for `redisson`. At
   * least 1. Default 10,000.
   */
  livenessWindow?: number | undefined;
  /** How long Redis can take to respond to a command. At least 1, below `watchdogTimeout` and `livenessWindow`. Default 1,000. */
  commandTimeout?: number | undefined;
  /**
   * Only for `redis`: a grant or a renewal counts only when `min` replicas (1 or more) have it within `timeout` ms
   * (at least 1, default `commandTimeout`); otherwise the request fails with LockNotReplicatedError, and a held lock becomes uncertain.
   * Costs a third connection, and a round trip and a `WAIT` for each handoff. Default false. See docs/outages.md.
   */
  replicas?: { readonly min: number; readonly timeout?: number | undefined } | false | undefined;
  /**
   * Only for `redis`: a server that has just become the primary, or lost its data, grants nothing until `maxLease` has
   * elapsed, so that the lease of a holder that it does not know expires first. All clients of a `keyPrefix` must be strict, or none:
   * others are rejected. Costs `maxLease` without new grants after each failover, restart and at the first start. Default
   * false. See docs/outages.md.
   */
  strict?: boolean | undefined;
  /** Only with `strict`: the longest lease of any client; a longer `leaseTime` is rejected. At least `watchdogTimeout`, the default. */
  maxLease?: number | undefined;
  /** How many requests can wait for one lock before a new one is rejected with 503: a whole number from 0, or `Infinity`, the default. */
  maxQueue?: number | undefined;
  /**
   * How long a hold can last before its signal aborts and its renewing stops, so that a hung section cannot hold forever: 1
   * or more, or `Infinity`, the default.
   */
  maxHold?: number | undefined;
  /**
   * What a caller learns when its lock was lost while the method ran. `signal` (default): `lock.signal` aborts, a
   * warning is logged, and the method's result goes through. `reject`: the caller receives the LockLostError even if the
   * method then succeeds, and a stream ends with it.
   */
  onLost?: 'signal' | 'reject' | undefined;
  /** Whether a flow that holds a key can lock it again without waiting for itself. Default true. */
  reentrant?: boolean | undefined;
  /**
   * How long holders keep their locks after a shutdown began, whatever called them; then their signals abort, streams
   * held by a lock end, and the locks are handed on after the margin of an expiring lease: 0 or more. Default 10,000.
   */
  drainTimeout?: number | undefined;
  /**
   * How long a request can wait before one warning is logged, with the holder of the lock at that moment: 1 or more, or `false` for
   * never. Default 10,000. Costs one inspection of the lock, at most one in 10 s for each key. A request that gives up also triggers a
   * warning: at most one in 10 s for each key, and none for `waitTime: 0` or `onTimeout: 'skip'`.
   */
  slowWait?: number | false | undefined;
  /** How long a hold can last before one warning is logged: 1 or more, or `false` for never. Default 30,000. */
  slowHold?: number | false | undefined;
  /**
   * Which waits end when the client of an HTTP (also GraphQL), WebSocket or gRPC request goes away. Default `'handler'`.
   *
   * - `'handler'`: the wait for the lock of the handler itself (a decorated handler, `FairLockInterceptor`), before anything of the handler has
   *   run. It ends as well when the request was answered meanwhile, as by `timeout()`. No other wait ends. Costs nothing where no handler is locked.
   * - `'deep'`: every wait of the request outside of holds, however deep the call, until it is answered. Two risks: a promise that several requests share
   *   (a cache, a memoized `init()`) is rejected for all of them when the client of the first one leaves; and a handler, or a listener that it has
   *   called, ends in the middle, after some of its work is done. Each request of the application then runs in an async scope.
   * - `false`: none.
   */
  requestScope?: RequestScope | undefined;
  /** Only for `redisson`: the wait time that Redisson assumes for a place in the queue (its name there). At least 1. Default 300,000. */
  fairLockWaitTimeout?: number | undefined;
  /** Only for `redisson`: Redisson's name for `watchdogTimeout`, which it replaces. */
  lockWatchdogTimeout?: number | undefined;
}

type Resolved<Options> = { readonly [Name in keyof Options]-?: Exclude<Options[Name], undefined> };

/** The options with every default filled in, all checked. */
export type ResolvedFairLockOptions = Resolved<FairLockModuleOptions & { redis: RedisSource }>;
