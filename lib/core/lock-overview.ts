/** Which part of the locks a query asks for. */
export interface LockQuery {
  /** Only this key. Default: every key of the prefix. */
  key?: string;
  /** Also look through Redis for locks of processes that are gone (SCAN over the prefix). Default: false. */
  orphans?: boolean;
  /** How long to wait for the processes to answer, in ms. Default: 500. */
  timeout?: number;
}

/** The process that a hold or a wait belongs to. One process has one client for each registration of the module. */
export interface ClientIdentity {
  clientId: string;
  host: string;
  pid: number;
}

/** One hold, as the process that has it reports it. */
export interface HoldReport {
  key: string;
  label?: string;
  /** ms since the section began. */
  heldFor: number;
  /** The fencing token; 0 for a store without tokens. */
  token: number;
  /** `uncertain`: Redis cannot be reached and the lease may be over soon; `lost`: the lease is over and the section still runs. */
  state: 'held' | 'uncertain' | 'lost';
  traceId?: string;
  spanId?: string;
}

/** One call that waits for a lock, as its process reports it. */
export interface WaitReport {
  key: string;
  label?: string;
  /** ms since the call asked for this lock. */
  waitingFor: number;
  /** How many wait in front of it, of those that were reported. */
  ahead?: number;
  /** What the store calls the request, as in `inspect`; absent before the request is in line. */
  id?: string;
  /** The keys that the same flow holds while it waits. */
  inside: string[];
  traceId?: string;
}

/** What one process knows of its own holds and waits. */
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
   * Nothing if the lock is free. Of a process that did not answer Redis knows the holder; only asked for the locks that
   * others have waited for the longest.
   */
  holder?: ClientIdentity & Omit<HoldReport, 'key'>;
  /** In the order in which they will be served, as far as it is known. */
  waiters: (ClientIdentity & Omit<WaitReport, 'key'>)[];
  /** True if Redis keeps the lock for a process that is gone. Only with `orphans: true`. */
  orphan: boolean;
}

/** Flows that wait for each other. Each step waits for a key that the next step holds; the last waits for the first. */
export interface WaitCycle {
  steps: (ClientIdentity & { label?: string; waitsFor: string; holds: string })[];
}

/** What `query` answers: the locks of all processes at about one moment. */
export interface LockOverview {
  /** Longest wait first. */
  locks: LockReport[];
  processes: ProcessReport[];
  /** Found twice in a row, so that a cycle that is about to dissolve is not reported. */
  cycles: WaitCycle[];
  /** Clients that listen but did not answer in time: a blocked event loop, or a stopped process. */
  silent: { clientId: string; host?: string; pid?: number }[];
  /** A sentence for everything that could not be found out, such as an answer that cannot be read. Empty: all is known. */
  problems: string[];
}
