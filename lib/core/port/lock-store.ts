import type { StoreFailure } from '../errors/errors.js';
import type { Share } from '../options/sharing.js';
import type { Grant } from './request.js';
import type { Peers } from './peers.js';
import type { Wait } from './wait.js';

export type { Grant, LockRequest } from './request.js';

export type { Share } from '../options/sharing.js';

/** How many waiters, and how many holders, `inspect` names; the rest is only counted. */
export const MOST_SHOWN = 1_000;
/** How many characters of a label are kept. */
export const LONGEST_LABEL = 128;

/**
 * The port between the engine and the store of the queues: Redis, Redisson's wire format, or the memory of this process.
 *
 * A store handles the queue and the lease of single locks. Nesting, several keys and async contexts belong to the engine.
 */
export interface LockStore {
  /** The store's name in messages and in `inspect`. */
  readonly kind: string;

  /** Whether grants carry a fencing token. */
  readonly fencing: boolean;

  /**
   * Why several requests cannot hold a lock together (`LockRequest.share`), and what to do instead. Absent if they can; the engine
   * rejects such requests with this text.
   */
  readonly noSharing?: string | undefined;

  /** The other clients of the same locks; absent where the locks are of this process only. */
  readonly peers?: Peers;

  /** Connects and checks what can be checked at boot; also resolves when the server is unreachable (then it warns). */
  start(): Promise<void>;

  /** The name under which the store keeps `key`: two keys are the same lock if and only if their names are equal. */
  encode(key: string): string;

  /**
   * Puts the wait into the queue of its key, and resolves with the grant when it is its turn.
   *
   * If the promise rejects, the caller does not hold the lock, and a grant that still arrives is handed on.
   *
   * @throws LockTimeoutError when `waitTime` has elapsed, immediately for a try (`waitTime: 0`) on a busy lock
   * @throws LockAbortedError when it is aborted in the queue or was before, unless the reason is a FairLockError, which is thrown as it is
   * @throws LockQueueFullError when `maxQueue` requests already wait
   * @throws LockStoreUnavailableError when the server does not respond to a new request within the store's command deadline
   */
  acquire(wait: Wait): Promise<Grant>;

  /** Who holds `key` and who waits. */
  inspect(key: string): Promise<LockSnapshot>;

  /**
   * Milliseconds since `moment` (monotonic) in which the server did not serve, in the last outage; absent where there is no server. For
   * error texts.
   */
  awaySince?(moment: number): number;

  /** Whether locks can be taken right now; absent where there is no server. Never rejects. */
  health?(): Promise<StoreHealth>;

  /**
   * Ends the present grants of `key`, no matter which clients have them, and wakes the next; false if the lock was free.
   *
   * @param named only this grant
   * @throws LockHolderChangedError if it does not hold the lock
   */
  forceRelease(key: string, named?: NamedGrant): Promise<boolean>;

  /** The keys of which the store has data, also of processes that are gone; absent if the store cannot list them. */
  keptKeys?(): Promise<KeptKeys>;

  /** Hands back every grant, leaves every queue, stops all timers, closes own connections. Never rejects, never hangs. */
  close(): Promise<void>;
}

/** Names one grant, as `inspect` shows it. */
export interface NamedGrant {
  /** The fencing token of a plain lock, or of the hold after which it is kept. Not for a store without tokens. */
  readonly token?: number | undefined;
  /** The id of a holder without a token (`LockHolder.id`), or of the hold after which the lock is kept. */
  readonly holder?: string | undefined;
}

/** The keys of which a store has data. */
export interface KeptKeys {
  readonly keys: readonly string[];
  /** A sentence for each part of the store that could not be searched. */
  readonly problems: readonly string[];
}

/** Whether a store can serve at the moment. */
export interface StoreHealth {
  /** A free lock can be taken and given back: the server responded within `commandTimeout`, and rejected none of the commands. */
  readonly reachable: boolean;
  /** Messages of grants arrive; otherwise locks are handed on late. */
  readonly listening: boolean;
  /** Why no lock can be taken, in a sentence without keys, hosts or credentials. */
  readonly problem?: string;
  /** The same in a word, as in the `LockStoreUnavailableError` that a call fails with; absent if it fails with another error. */
  readonly failure?: StoreFailure;
  /** True from the first moment of a shutdown: new calls are rejected with a `LockShuttingDownError`. Absent: it is not closing. */
  readonly closing?: true;
}

/** What `inspect` shows. Times are milliseconds. */
export interface LockSnapshot {
  readonly key: string;
  /** The first of `holders`: the only one, unless the lock is shared. */
  readonly holder: LockHolder | undefined;
  /** In the order of their grants, if the store knows it; at most 1,000. */
  readonly holders: readonly LockHolder[];
  /** Present while nobody holds the lock and `holdAtLeast` of its last holder keeps it. */
  readonly kept?: KeptLock;
  /** Of a shared lock, how much is taken, kept holds included: the sum of the weights of permits, or the number of reads. */
  readonly used?: number;
  /** Of permits, how many there are: the smallest `permits` of those that are held or kept. */
  readonly limit?: number;
  /** Those in the queue, in the order in which they will be served; at most the first 1,000. */
  readonly waiters: readonly LockWaiter[];
  /** How many wait in all. */
  readonly queueLength: number;
}

/** A lock that nobody holds or can get yet, because its last hold ended before its `holdAtLeast` elapsed. */
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
  /** False: nobody listens for its process, which is gone or has lost its subscription. Absent: the store does not know. */
  readonly live?: boolean;
  /** Absent: it holds the lock alone. */
  readonly share?: Share;
  /** Names the holder for `forceRelease` where no fencing token does: of a shared lock, and in a store without tokens. Absent: the token names it. */
  readonly id?: string;
}

export interface LockWaiter {
  /** What the store calls the request. */
  readonly id: string;
  /** The id of its client; undefined if the store does not know. */
  readonly client?: string;
  readonly who: string;
  /** How long it has waited; undefined if the store does not know. */
  readonly waitingFor: number | undefined;
  /** False while its client seems dead. Then it is skipped, without losing its place; with a deadline, it is in the way until that has passed. */
  readonly live: boolean;
  /**
   * Of a store whose waiters have deadlines (`redisson`): how long until its deadline, by the clock of this process. A waiter that is the
   * first in the queue and whose deadline has passed is removed as dead.
   */
  readonly deadlineLeft?: number;
  /** With whom it would share the lock. Absent: it would hold it alone. */
  readonly share?: Share;
}
