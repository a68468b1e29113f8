import type { Share } from '../options/sharing.js';
import type { ClientIdentity } from '../port/peers.js';

/** Selects the locks of a query. */
export interface LockQuery {
  /** Only this key. Default: every key of the prefix. */
  key?: string;
  /** Whether to search Redis for locks of processes that are gone (SCAN over the prefix). Default: false. */
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
  /** How many are ahead of it, of those that were reported. */
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

/** One lock, put together from the reports of all processes. */
export interface LockReport {
  key: string;
  /**
   * The first of `holders`; absent if the lock is free. If its process did not respond, the holder comes from Redis; that is asked only for the locks with the
   * longest waits.
   */
  holder?: ClientIdentity & Omit<HoldReport, 'key'>;
  /** All that hold it: one, unless the lock is shared. The longest hold first. */
  holders: (ClientIdentity & Omit<HoldReport, 'key'>)[];
  /** For how many more ms `holdAtLeast` of its last hold keeps the lock. Absent if it has a holder or is not kept. */
  keptFor?: number;
  /** In the order in which they will be served, as far as it is known. */
  waiters: (ClientIdentity & Omit<WaitReport, 'key'>)[];
  /** True if Redis keeps the lock for a process that is gone. Only with `orphans: true`. */
  orphan: boolean;
}

/** The result of `query`: the locks of all processes at about one moment. */
export interface LockOverview {
  /** Longest wait first. */
  locks: LockReport[];
  processes: ProcessReport[];
  /** Clients that listen but did not respond in time: a blocked event loop, or a stopped process. */
  silent: { clientId: string; host?: string; pid?: number }[];
  /** A sentence for each piece of missing information, such as a response that cannot be read. Empty: the overview is complete. */
  problems: string[];
}
