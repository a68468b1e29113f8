import type { Lease } from './lease.js';
import type { Peers } from './peers.js';

/** How many waiters `inspect` names; the rest is only counted. */
export const MOST_WAITERS_SHOWN = 1_000;
/** How many characters of a label are kept. */
export const LONGEST_LABEL = 128;

/**
 * The port between the engine and the store of the lines: Redis, Redisson's wire format, or the memory of this process.
 *
 * A store handles the line and the lease of single locks. Nesting, several keys and async contexts belong to the engine.
 */
export interface LockStore {
  /** The store's name in messages and in `inspect`. */
  readonly kind: string;

  /** Whether grants carry a fencing token. */
  readonly fencing: boolean;

  /** The other clients of the same locks; absent where the locks are of this process only. */
  readonly peers?: Peers;

  /** Connects and checks what can be checked at boot; resolves also when the server is away (then it warns). */
  start(): Promise<void>;

  /** The name under which the store keeps `key`: two keys are the same lock if and only if their names are equal. */
  encode(key: string): string;

  /**
   * Joins the line of `request.key` and resolves with the grant when it is this request's turn.
   *
   * If the promise rejects, the caller does not own the lock, and a grant that still arrives is handed on.
   *
   * @throws LockTimeoutError when `waitTime` is over, at once for a try (`waitTime: 0`) on a busy lock
   * @throws LockAbortedError when `signal` aborts while in line, unless its reason is a FairLockError, which is thrown as it is
   * @throws LockQueueFullError when `maxQueue` requests already wait
   * @throws LockStoreUnavailableError when a new request gets no answer within the store's command deadline
   */
  acquire(request: LockRequest): Promise<Grant>;

  /** Who holds `key` and who waits. */
  inspect(key: string): Promise<LockSnapshot>;

  /** Whether the server can be reached right now; absent where there is none. Never rejects. */
  health?(): Promise<StoreHealth>;

  /**
   * Ends the present grant of `key`, no matter which client has it, and wakes the next; false if the lock was free.
   *
   * @param token only if the holder has this fencing token; not for a store without tokens
   * @throws LockHolderChangedError if another holder has it
   */
  forceRelease(key: string, token?: number): Promise<boolean>;

  /** The keys of which the store has data, also of processes that are gone; absent if the store cannot list them. */
  keptKeys?(): Promise<KeptKeys>;

  /** Hands back every grant, leaves every line, stops all timers, closes own connections. Never rejects, never hangs. */
  close(): Promise<void>;
}

/** The keys of which a store has data. */
export interface KeptKeys {
  readonly keys: readonly string[];
  /** A sentence for each part of the store that could not be searched. */
  readonly problems: readonly string[];
}

/** Whether a store can serve at the moment. */
export interface StoreHealth {
  /** A command is answered within `commandTimeout`. */
  readonly reachable: boolean;
  /** Messages of grants arrive; otherwise locks are handed on late. */
  readonly listening: boolean;
  /** What is wrong, in a sentence without keys, hosts or credentials. */
  readonly problem?: string;
}

/**
 * The part of AbortSignal that a store uses. The engine ends waits by a plain object of this shape, because an AbortController and an
 * event listener would cost more than all its other work for an uncontended lock.
 */
export interface AbortSource {
  readonly aborted: boolean;
  readonly reason: unknown;
  addEventListener(type: 'abort', listener: AbortListener): void;
  removeEventListener(type: 'abort', listener: AbortListener): void;
}

/** An `EventListenerObject`: a class that listens implements it itself, which saves a closure for each wait. */
export interface AbortListener {
  handleEvent(): void;
}

/** One attempt to lock one key. */
export interface LockRequest {
  readonly key: string;
  /** Milliseconds to stay in line; 0 tries once without queueing; `Infinity` waits for ever. */
  readonly waitTime: number;
  /** Milliseconds of a fixed lease that is never renewed; absent: the watchdog renews. */
  readonly leaseTime?: number | undefined;
  /** How many requests may wait before a new one is refused; `Infinity`: no bound. */
  readonly maxQueue: number;
  /** The lock may be kept after the hold (`Grant.release`), so it shares its grant with no other request. Absent: false. */
  readonly alone?: boolean;
  /** Name of the caller, for display: `OrdersService.pay`. At most 128 characters are kept. */
  readonly label: string;
  /** Leaves the line when it aborts; has no effect after the grant. */
  readonly signal?: AbortSource;
  /**
   * Called once, when the request was put in line, with how many requests will be served before it (holder not counted), and
   * with the name that `inspect` shows for it, if the store has one.
   */
  readonly onQueued?: (ahead: number, id?: string) => void;
}

/** The right to a lock, until released or lost. */
export interface Grant {
  readonly key: string;
  /** Fencing token: rises with every grant of the key. Absent where `LockStore.fencing` is false. */
  readonly token: number | undefined;
  /** The state of the grant (held, uncertain or lost) by this process's own clocks. */
  readonly lease: Lease;
  /** Milliseconds between joining the line and the grant. */
  readonly waited: number;
  /**
   * Gives the lock to the next in line; with `keep`, a number of ms, not before that time is over, counted from the grant by the
   * store's clock. A lost grant is not kept. Idempotent, never rejects: a server that cannot be reached is retried in the
   * background until the lease is over, after which the server gives the lock on by itself.
   * Resolves when the server acknowledged it, at the latest after the store's command deadline.
   */
  release(keep?: number): Promise<void>;
}

/** What `inspect` shows. Times are milliseconds. */
export interface LockSnapshot {
  readonly key: string;
  readonly holder: LockHolder | undefined;
  /** Present while the lock has no holder and `holdAtLeast` of its last holder keeps it. */
  readonly kept?: KeptLock;
  /** In the order in which they will be served; at most the first 1,000. */
  readonly waiters: readonly LockWaiter[];
  /** How many wait in all. */
  readonly queueLength: number;
}

/** A lock without a holder that no request gets yet, because its last hold ended before its `holdAtLeast` was over. */
export interface KeptLock {
  /** Who held it last: `host/pid` and the label. */
  readonly who: string;
  /** The fencing token of that hold, by which `forceRelease` may name it. */
  readonly token: number | undefined;
  /** How long it is still kept. */
  readonly left: number;
}

export interface LockHolder {
  /** The id of the client that holds it; undefined if the store does not know. */
  readonly client?: string;
  /** `host/pid` and the label: `web-1/4711/OrdersService.pay`. */
  readonly who: string;
  readonly token: number | undefined;
  /** How long it has held the lock; undefined if the store does not know. */
  readonly heldFor: number | undefined;
  /** What is left of the lease. `Infinity` in the memory store without a fixed lease. */
  readonly leaseLeft: number;
}

export interface LockWaiter {
  /** What the store calls the request; undefined where it has no name. */
  readonly id?: string;
  /** The id of its client; undefined if the store does not know. */
  readonly client?: string;
  readonly who: string;
  /** How long it has waited; undefined if the store does not know. */
  readonly waitingFor: number | undefined;
  /** False while its client seems dead; then it is passed over, without losing its place. */
  readonly live: boolean;
}
