import type { SimClient } from '../scenario/sim-client.js';
import type { SimServer } from '../world/sim-server.js';
import type { World } from '../world/world.js';
import type { Excuses } from './excuses.js';
import type { Findings } from './findings.js';
import { gaveUp, nameOf, type LockState, type RequestRecord } from './history.js';
import type { LockStates } from './lock-states.js';
import { waitsAsNew } from './present-grant.js';
import type { SharedNeed } from './shared-need.js';

/** Whether those that wait are served: in order, and without a pause. */
export class GrantOrder {
  constructor(
    private readonly world: World,
    private readonly server: SimServer,
    private readonly clients: readonly SimClient[],
    private readonly excuses: Excuses,
    private readonly findings: Findings,
    private readonly locks: LockStates,
    private readonly need: SharedNeed,
  ) {}

  /**
   * No request that was in line before it, and whose client was reachable, was passed over.
   *
   * @param hasIt whether the server has let in a request whose caller does not know yet
   */
  checkOrder(
    lock: LockState,
    record: RequestRecord,
    hasIt = (_other: RequestRecord): boolean => false,
  ): void {
    const { now } = this.world;
    for (const other of lock.waiting) {
      if (other === record || hasIt(other)) continue;
      if (other.ackedAt === undefined || other.ackedAt >= record.sentAt || gaveUp(other, now)) continue;
      if (this.excuses.isTooShort(other)) continue;
      if (this.excuses.mayBePassedOver(other, record, lock.newcomerAt, now))
        this.findings.tally.excusedInversions += 1;
      else
        this.findings.violate('order', `${nameOf(record)} was granted ${lock.name} before ${nameOf(other)}`);
    }
  }

  /** Whether the lock is free while a request waits for it. */
  noteNeed(lock: LockState): void {
    if (this.excuses.isShared) return this.noteSharedNeed(lock);
    let needed = false;
    for (const record of lock.waiting)
      needed ||= record.ackedAt !== undefined && !gaveUp(record, this.world.now);
    for (const { lease } of lock.holds) needed &&= (lease?.remaining() ?? 0) <= 0;
    needed &&= lock.heldByDeadUntil <= this.world.now;
    // A grant whose lease is over before its client learns of it is a turn in which nobody enters.
    for (const record of lock.waiting) needed &&= !this.excuses.isTooShort(record);
    needed &&= this.mayGrant(lock);
    if (!needed) lock.neededSince = undefined;
    else lock.neededSince ??= this.world.now;
  }

  /** Of a shared lock, whether the request that is next could hold it beside those that do. */
  private noteSharedNeed(lock: LockState): void {
    const next = this.mayGrant(lock) ? this.need.next(lock) : undefined;
    const by = next && nameOf(next);
    if (by === lock.neededBy) return;
    this.checkGap(lock);
    lock.neededBy = by;
    lock.neededSince = by === undefined ? undefined : this.world.now;
  }

  /** A lock is not free for long while a request waits for it. */
  checkGap(lock: LockState): void {
    if (lock.neededSince === undefined) return;
    const { now } = this.world;
    this.findings.tally.worstGap = Math.max(this.findings.tally.worstGap, now - lock.neededSince);
    const quietSince = this.excuses.quietSince(this.clients, now);
    const gap = now - Math.max(lock.neededSince, quietSince);
    if (gap > this.excuses.longestGap()) {
      this.findings.violate(
        'lost-wake-up',
        `${lock.name} was free for ${gap.toFixed(0)} ms while a request waited for it`,
      );
    }
  }

  private mayGrant({ name }: LockState): boolean {
    return this.excuses.protections.longestWait === 0 || !waitsAsNew(this.server.redis, name);
  }

  /** Still waiting although everything was healed long ago. */
  unserved(): RequestRecord[] {
    return this.locks.all().flatMap((lock) => [...lock.waiting]);
  }

  /** Also where no grant came at all. */
  checkGaps(): void {
    for (const lock of this.locks.all()) this.checkGap(lock);
  }
}
