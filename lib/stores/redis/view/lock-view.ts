import { CommonView } from '../../redis-client/view/common-view.js';
import type { PresentGrant } from '../commands/reply.js';
import type { Timing } from '../commands/timing.js';
import type { NativeTypes } from './events.js';
import type { PlaceRequest, Batch, SharedHold } from './model.js';

export interface ViewSettings {
  readonly timing: Timing;
  /** Whether a grant or renewal is valid only when replicas have it (docs/replication.md). */
  readonly replicated: boolean;
}

/** After a lease has ended, the first WAKE_PLACES in line ask one after the other, WAKE_SPREAD ms apart. */
export const WAKE_SPREAD = 5;
export const WAKE_PLACES = 20;

/** A lost grant whose section still runs; times are monotonic ms. */
export interface LostBatch {
  readonly batch: Batch;
  /** No other section begins here before that time. */
  readonly stopBy: number;
  /** Until when Redis may keep the grant if it is not released. */
  serverUntil: number;
}

/** One lock as this client sees it. Only the functions beside this file change it. */
export class LockView extends CommonView<NativeTypes> {
  // ---- the requests (requests.ts)
  /** New requests of this turn of the event loop, which ask together at its end. */
  newcomers: PlaceRequest[] = [];
  /** The client's generation in the last reply of Redis (M5). */
  generation = 0;

  // ---- the grant (grant.ts)
  /** The batch whose member holds the lock. */
  batch: Batch | undefined;
  /** A grant that waits for confirmation by replicas and is not held yet. */
  confirming: Batch | undefined;
  /** A grant that came too late to be entered; the reply to a heartbeat that names it decides (M1). */
  late: PresentGrant | undefined;
  lostButRunning: LostBatch | undefined;
  /** Grants up to this first token are over for this client (M8). */
  finished = 0;
  /** How many releases are not yet acknowledged, and the last command before the last of them. */
  releasing = 0;
  releasedAfter = 0;

  // ---- the shared holds (shared.ts)
  /** By sequence. */
  readonly shares = new Map<number, SharedHold>();
  /** Lost holds whose sections may still run until `stopBy` (monotonic ms). */
  readonly lostShares = new Map<number, { readonly hold: SharedHold; readonly stopBy: number }>();
  /** Not after the end of the first lease (monotonic ms), and how far the wall clock was ahead of the monotonic one at the least. */
  readonly sharesWatch = { due: Infinity, ahead: Infinity };
  /** Requests of which this client is telling Redis that they are over. */
  readonly ending = new Set<number>();
  /**
   * Requests that cannot enter their shared holds yet, with how many commands this client had sent when it learned of the hold; the
   * reply to a later heartbeat decides (M1).
   */
  readonly lateShares = new Map<PlaceRequest, number>();
  /** The highest token of an exclusive grant: shared holds with lower numbers are over. */
  lastExclusive = 0;

  // ---- the heartbeat (heartbeat.ts)
  /** The newest command whose reply was applied: an older one is outdated. */
  newest = 0;
  /** 0: not needed yet. */
  nextBeat = 0;
  beating = false;
  /** When the lease of the present holder must have ended, as far as is known. */
  wakeAt = Infinity;
  /** How long after `wakeAt` this client asks, ms. */
  wakeSpread = WAKE_PLACES * WAKE_SPREAD;
  /** The lock is free although requests wait: this client has to ask at `wakeAt` (R8). */
  mustRetry = false;
  /** When the last command was sent that marked this client alive in line. */
  markedAliveAt = -Infinity;

  /**
   * @param server which primary keeps the lock, as far as it is known
   * @param subscribedSince undefined: messages are not received
   * @param seenBefore the highest token that this client had seen: every request asks for a higher one
   */
  constructor(
    readonly settings: ViewSettings,
    public server: string | undefined,
    public subscribedSince: number | undefined,
    readonly seenBefore: number,
  ) {
    super();
  }

  /** If the reply names a grant without any member that still waits or holds the lock, the view hands that grant on (M3). */
  leave(request: PlaceRequest): void {
    request.leftAfter = this.now.order;
    if (request.share) this.ending.add(request.sequence);
    this.send({ kind: 'leave', request, markAlive: this.waiting.size > 0 });
  }

  /** The next heartbeat goes out at this time at the latest (monotonic ms). */
  beatBy(moment: number): void {
    this.nextBeat = Math.min(this.nextBeat || Infinity, moment);
  }

  protected nameOf({ sequence }: PlaceRequest): number {
    return sequence;
  }
}
