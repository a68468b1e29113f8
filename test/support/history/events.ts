/**
 * What a history is made of.
 *
 * Stamps are nanoseconds of the host's monotonic clock (`process.hrtime.bigint()`), which all processes of one host
 * share. Each event is stamped on the side that makes it useful to a judge: "sent" before sending, "acked" and
 * "granted" after hearing, `assertHeld` before looking.
 */
export interface Stamped {
  readonly at: number;
  /** The process that recorded it. */
  readonly worker: string;
}

/** How a request shares a lock; absent: not at all. */
export type Share =
  { readonly mode: 'read' } | { readonly mode: 'permits'; readonly limit: number; readonly weight: number };

/** The life of one request, in the order in which its events can happen. */
export type RequestEvent = Stamped & { readonly request: string } &
  /** `holdAtLeast`: ms from the grant for which its lock is kept. */
  (
    | {
        readonly type: 'sent';
        readonly key: string;
        readonly waitTime: number | null;
        readonly holdAtLeast?: number;
        readonly share?: Share;
      }
    /** It has a place in line, with so many before it. A request that is served at once has none. */
    | { readonly type: 'acked'; readonly ahead: number }
    | { readonly type: 'granted'; readonly token: number | null }
    | { readonly type: 'assertHeld'; readonly held: boolean }
    /** It is about to write, with its token, to what the lock guards. */
    | { readonly type: 'op' }
    | { readonly type: 'lost' }
    | { readonly type: 'releaseSent' }
    | { readonly type: 'releaseAcked' }
    | { readonly type: 'abortSent' }
    // How a request ends that was not granted.
    | { readonly type: 'timeout' }
    | { readonly type: 'aborted' }
    | { readonly type: 'error'; readonly code: string; readonly message: string }
  );

/** What happens to a process as a whole. */
export type WorkerEvent = Stamped &
  (
    | { readonly type: 'ready' }
    | { readonly type: 'loadDone' }
    /** Its host was suspended, and resumed. */
    | { readonly type: 'suspended' | 'resumed' }
    | { readonly type: 'roundDone'; readonly round: number }
    /** What `inspect` or `forceRelease` said: a holder's token or none, whether a grant was ended, or why there is no answer. */
    | {
        readonly type: 'answered';
        readonly query: string;
        readonly token: number | null;
        readonly ended: boolean;
        readonly error: string | null;
      }
    /** From here on its waiters may leave with an error. */
    | { readonly type: 'closing' }
    | { readonly type: 'closed' }
    /** It has gone; `expected` says whether the test wanted that. */
    | { readonly type: 'exited'; readonly expected: boolean; readonly how: string }
    /** An unhandled rejection, an uncaught exception, or a warning of Node. */
    | { readonly type: 'unhandled'; readonly message: string }
    /** Something that a closed worker still had: it did not end by itself, or its gauges were not back at 0. */
    | { readonly type: 'leftOpen'; readonly what: string }
    /** The process was given no core for so long; what it computed meanwhile is left out. */
    | { readonly type: 'stall'; readonly ms: number }
  );

/** What a process saw on the server. */
export type ServerEvent = Stamped &
  (
    | { readonly type: 'keyWithoutTtl'; readonly name: string }
    /** Still there although everything that keeps it has been at rest for long enough. */
    | { readonly type: 'leftover'; readonly name: string }
    /** The weight that a shared lock says it holds is not that of its holders. */
    | { readonly type: 'weightLost'; readonly name: string; readonly says: number; readonly holds: number }
  );

/**
 * What was done to the system, from `at` until it was healed.
 *
 * - `killed`, `stopped`, `cut`: a process was killed, stood still, or could not reach the server or be reached
 * - `serverDown`: the same for all processes, and places in line may be lost, as in a failover
 * - `serverAway`: the same for all processes; the server comes back with all that it knew
 * - `dataLost`: the server lost what it knew
 * - `forced`: a lock was taken from its holder by force
 * - `clockStepped`: the server's clock was set
 */
export type FaultKind =
  'killed' | 'stopped' | 'cut' | 'serverDown' | 'serverAway' | 'dataLost' | 'forced' | 'clockStepped';

export interface Fault extends Stamped {
  readonly type: 'fault';
  readonly kind: FaultKind;
  /** Infinity until it is healed. */
  until: number;
  /** The process it was done to; absent: all processes. */
  readonly victim?: string;
  /** The lock it was done to; absent: all. */
  readonly key?: string;
}

export type HistoryEvent = RequestEvent | WorkerEvent | ServerEvent | Fault;

export function isRequestEvent(event: HistoryEvent): event is RequestEvent {
  return 'request' in event;
}

/** Now, as events are stamped. */
export function stamp(): number {
  return Number(process.hrtime.bigint());
}

export const NS_PER_MS = 1e6;

/** An event as people read it. */
export function describe(event: HistoryEvent): string {
  const { at, worker, type, ...rest } = event;
  const details = Object.entries(rest).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
  return `${(at / NS_PER_MS).toFixed(3)} ms ${worker} ${type} ${details.join(' ')}`;
}
