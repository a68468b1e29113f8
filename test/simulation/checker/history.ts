import type { Lease } from '../../../lib/core/port/lease.js';
import type { PlannedRequest } from '../scenario/plan.js';
import type { SimClient } from '../scenario/sim-client.js';

/** One request for a lock, as its caller lived it. Times are of the simulated world. */
export interface RequestRecord {
  readonly id: number;
  readonly client: SimClient;
  readonly lock: string;
  readonly planned: PlannedRequest;
  readonly sentAt: number;
  /** What its client's store calls it, and, of a shared hold, what the server does. */
  sequence?: number;
  number?: number;
  /** The caller was told its place in line. */
  ackedAt?: number;
  abortedAt?: number;
  grantedAt?: number;
  /** By the server's clock, ms. */
  grantedAtServer?: number;
  token?: number;
  lease?: Lease;
  lostAt?: number;
  /** The caller began to give the lock back, or was told that it is lost. */
  holdEndedAt?: number;
  /** When the server passed the lock to it, or to the run that it belongs to. */
  passedAt?: number;
  /** When, before that, the server last had no subscriber on its client's channel. */
  unsubscribedBefore?: number;
  /** When the server had last marked each waiting client alive, as it was then. */
  markedAlive?: ReadonlyMap<SimClient, number>;
  /** Which client the server granted the lock to before. */
  clientBefore?: SimClient | undefined;
  rejectedAt?: number;
  error?: string;
}

/** What messages call a request. */
export function nameOf({ id, client }: RequestRecord): string {
  return `${client.process.name}/r${id}`;
}

/** Its caller waits no more, though it has not been told yet. Timers are a millisecond early at most. */
export function gaveUp({ abortedAt, sentAt, planned }: RequestRecord, now: number): boolean {
  return abortedAt !== undefined || now > sentAt + planned.waitTime - 1;
}

/** What kind of error a caller got. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error);
}

/**
 * The server did not keep its side: data gone, the line or a part of it gone, lock taken away, clock set; or a replica took its place, while
 * the old primary was gone (failed-over) or went on serving (split).
 */
export interface ServerBreak {
  readonly kind:
    'data-lost' | 'line-lost' | 'taken-away' | 'clock-forward' | 'clock-back' | 'failed-over' | 'split';
  readonly at: number;
  /** Of which lock; none: of all. */
  readonly lock: string | undefined;
  /** Of a clock, by how much it was set; of a replica, by how much it lagged behind: ms. */
  readonly by: number;
}

export interface Violation {
  readonly invariant: string;
  readonly at: number;
  readonly text: string;
}

/** Counts of a run, added up over seeds. */
export interface Tally {
  grants: number;
  requests: number;
  commands: number;
  faults: number;
  lost: number;
  excusedOverlaps: number;
  excusedInversions: number;
  /** Locks and permits that `holdAtLeast` kept. */
  kept: number;
  /** Longest time for which a lock stayed free while a request waited for it, ms. */
  worstGap: number;
}

/** A grant as it stands on the server. */
export interface ServerGrant {
  readonly firstToken: number;
  readonly lastToken: number;
  readonly at: number;
  /** When the server last had no subscriber on each client's channel, as it was then. */
  readonly unsubscribed: ReadonlyMap<SimClient, number>;
  /** When the server had last marked each waiting client alive, as it was then. */
  readonly markedAlive: ReadonlyMap<SimClient, number>;
  /** To which client. */
  readonly owner: SimClient | undefined;
  /** To which client the lock was granted before. */
  readonly before: SimClient | undefined;
}

export const NO_GRANT: ServerGrant = {
  firstToken: 0,
  lastToken: 0,
  at: 0,
  unsubscribed: new Map(),
  markedAlive: new Map(),
  owner: undefined,
  before: undefined,
};

export interface LockState {
  readonly name: string;
  /** Sent and not yet granted or rejected. */
  readonly waiting: Set<RequestRecord>;
  /** Granted and not yet given back. */
  readonly holds: Set<RequestRecord>;
  /** The last grant that was seen on the server, and since when. */
  serverGrant: ServerGrant;
  /** Until when the server honours a grant of a process that is gone; 0: it does not. */
  heldByDeadUntil: number;
  /** The last time at which a living process held it or waited for it, or the server honoured a grant of anyone. */
  lastUse: number;
  /** When a client that had no request in line last asked for it. */
  newcomerAt: number;
  /** The clients of which the server kept a record after the last script. */
  recorded: readonly string[];
  /** When the server last carried out a script of a client for this lock: a copy may come long after its client has ended. */
  readonly commandedAt: Map<string, number>;
  /** Since when a request waits that could have it, and which; undefined: not so. */
  neededSince: number | undefined;
  neededBy: string | undefined;
}
