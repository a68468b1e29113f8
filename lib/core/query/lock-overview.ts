import type { Share } from '../options/sharing.js';
import type { ClientIdentity } from '../port/peers.js';

/** Selects the locks of a query. */
export interface LockQuery {
  /** Only this key. Default: every key of the prefix. */
  key?: string;
  /**
   * Whether to search Redis for locks that no process reports (SCAN over the database), such as those of processes that are gone. Default:
   * false; then it is searched only if a process does not respond, at most once in 10 s.
   */
  orphans?: boolean;
  /** How long to wait for the processes to respond, in ms. Default: 500. */
  timeout?: number;
}

/** One hold, as the process that has it reports it. */
export interface HoldReport {
  key: string;
  label?: string;
  /** ms since the section began. */
  heldFor: number;
  /** The fencing token; 0 for a store without tokens, and for a hold that is shared. */
  token: number;
  /** Absent: it holds the lock alone. */
  share?: Share;
  /** `uncertain`: Redis is unreachable and the lease might expire soon; `lost`: the lease has expired and the section is still running. */
  state: 'held' | 'uncertain' | 'lost';
  traceId?: string;
}

/** One call that waits for a lock, as its process reports it. */
export interface WaitReport {
  key: string;
  label?: string;
  /** ms since the call asked for this lock. */
  waitingFor: number;
  /** How many were ahead of it when it joined the queue. */
  ahead?: number;
  /** What the store calls the request, as in `inspect`; absent before the request is in the queue. */
  id?: string;
  /** The keys that the same flow holds while it waits. */
  inside: string[];
  /** Absent: it would hold the lock alone. */
  share?: Share;
  traceId?: string;
}

/** The holds and waits of one process. */
export interface ProcessReport extends ClientIdentity {
  /** Version of the package. */
  version: string;
  /** Mean delay of the event loop since the last query, in ms. */
  eventLoopDelay: number;
  holds: HoldReport[];
  waits: WaitReport[];
  /** True if the process has more holds or waits than it reports (it reports the oldest 1,000). */
  truncated: boolean;
}

/** A hold as Redis has it. Of a process that responded, `state` and `traceId` are as it reports them. */
export interface HolderReport extends ClientIdentity, Omit<HoldReport, 'key'> {
  /** Names it for `forceRelease` if it shares the lock (`LockHolder.id`). */
  id?: string;
  /** False: nobody listens for its process, which is gone or has lost its subscription. Absent: not known. */
  live?: boolean;
}

/** A request in the queue as Redis has it. Of a process that responded, `inside` and `traceId` are as it reports them. */
export interface WaiterReport extends ClientIdentity, Omit<WaitReport, 'key'> {
  /** How many are ahead of it. */
  ahead: number;
  /** False: its process seems dead; then it is skipped, without losing its place. */
  live: boolean;
}

/**
 * One lock. Redis says who holds it and who waits; the processes say which locks there are. Of more than 1,000 locks, those with the
 * longest waits are looked up in Redis, and the others are as their processes report them; with `orphans`, all are looked up.
 */
export interface LockReport {
  key: string;
  /** The first of `holders`; absent if nobody holds the lock. */
  holder?: HolderReport;
  /** All that hold it: one, unless the lock is shared. In the order of their grants; at most 1,000. */
  holders: HolderReport[];
  /** Of a shared lock, how much is taken: the sum of the weights of permits, or the number of reads. */
  used?: number;
  /** Of permits, how many there are. */
  limit?: number;
  /** For how many more ms `holdAtLeast` of its last hold keeps the lock. Absent if it has a holder or is not kept. */
  keptFor?: number;
  /** In the order in which they will be served; at most the first 1,000. */
  waiters: WaiterReport[];
  /** How many wait in all. */
  queueLength: number;
  /** True if a process that is gone still holds it. */
  orphan: boolean;
}

/** The result of `query`: the locks of all processes at about one moment. */
export interface LockOverview {
  /** Longest wait first. */
  locks: LockReport[];
  processes: ProcessReport[];
  /**
   * Clients that listen but did not respond in time: a blocked event loop, or a stopped process. Host and process are known of one that holds
   * a lock or waits for one, or has responded before. Each of the others is an empty object: it may have lost a lock, and may write when it
   * wakes.
   */
  silent: { clientId?: string; host?: string; pid?: number }[];
  /** A sentence for each piece of missing information, such as a response that cannot be read. Empty: the overview is complete. */
  problems: string[];
}
