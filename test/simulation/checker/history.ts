import type { Lease } from '../../../lib/core/port/lease.js';
import type { PlannedRequest } from '../scenario/plan.js';
import type { SimClient } from '../scenario/sim-client.js';
import type { LockData } from './lock-data.js';

/** Why a promise did not hold, where docs/reliability.md says that it need not. */
export type Excuse = 'outage' | 'unreachable' | 'clock' | 'data' | 'forced';

/** One request for a lock, as its caller lived it. Times are of the simulated world. */
export interface RequestRecord {
  readonly id: number;
  readonly client: SimClient;
  readonly lock: string;
  readonly planned: PlannedRequest;
  readonly sentAt: number;
  /** What the server calls it, after its client. */
  sequence?: number;
  /** The caller was told its place in line. */
  ackedAt?: number;
  abortedAt?: number;
  grantedAt?: number;
  token?: number | undefined;
  lease?: Lease;
  /** The caller began to give the lock back, or was told that it is lost. */
  holdEndedAt?: number;
  /** The grant that the server has made to it. */
  served?: Served | undefined;
  /** Its place. */
  ticket?: number | undefined;
  /** Its client has told the server that it waits no more. */
  hasLeft?: boolean;
  /** Why it has no place in line, though it waits. */
  lostPlace?: Excuse | undefined;
  /** Why it had none, before a late copy of its first command may have put it behind all others. */
  cameBackAfter?: Excuse;
}

export interface Served {
  readonly at: number;
  readonly serverTime: number;
}

export interface LockState {
  /** The key of its hash. */
  readonly name: string;
  /** Sent and not yet granted or rejected. */
  readonly waiting: Set<RequestRecord>;
  /** Granted and not yet given back. */
  readonly holds: Set<RequestRecord>;
  /** A script was stopped, and may have left too much in the sum of the holds, or a key without a time to live. */
  wasStopped: boolean;
  /** Whether its last script was: the next one heals what it left, and none may come. */
  isStopped: boolean;
  /** As the last script left it; undefined: the server has changed it otherwise. */
  data: LockData | undefined;
  /** The highest token that the server gave, and when; and the highest of a caller. */
  given: { readonly token: number; readonly at: number };
  entered: number;
  /** When the server last heard from a client that waits. */
  readonly heard: Map<SimClient, number>;
  /** Since when the head of the line could have it (in future: when the leases end); undefined: nobody waits. */
  neededSince: number | undefined;
  /** What is kept, by the id of its hold, until when by the server's clock. */
  readonly kept: Map<string, number>;
}

export function newLock(name: string): LockState {
  return {
    name,
    waiting: new Set(),
    holds: new Set(),
    wasStopped: false,
    isStopped: false,
    data: undefined,
    given: { token: 0, at: 0 },
    entered: 0,
    heard: new Map(),
    neededSince: undefined,
    kept: new Map(),
  };
}

/** What messages call a request. */
export function nameOf({ id, client }: RequestRecord): string {
  return `${client.process.name}/r${id}`;
}

/** Its caller waits no more, though it has not been told yet. Timers are a millisecond early at most, and clocks drift. */
export function gaveUp({ abortedAt, sentAt, planned }: RequestRecord, now: number): boolean {
  return abortedAt !== undefined || now > sentAt + planned.waitTime * (1 - 1e-4) - 1;
}

/** What kind of error a caller got. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error);
}

export interface Violation {
  readonly invariant: string;
  readonly at: number;
  readonly text: string;
}

/** Counts of a run, added up over seeds. */
export type Tally = Record<Counted, number>;
type Counted =
  | 'grants'
  | 'requests'
  | 'commands'
  | 'faults'
  | 'lost'
  | 'kept'
  | `excused ${'order' | 'overlap' | 'tokens'}: ${Excuse}`;
