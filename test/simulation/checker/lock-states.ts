import { NO_GRANT, type LockState, type RequestRecord } from './history.js';

/** The locks that were asked for, by the keys of their hashes. */
export class LockStates {
  private readonly locks = new Map<string, LockState>();

  find(name: string): LockState | undefined {
    return this.locks.get(name);
  }

  get(name: string): LockState {
    let lock = this.locks.get(name);
    if (!lock) {
      lock = {
        name,
        waiting: new Set(),
        holds: new Set(),
        serverGrant: NO_GRANT,
        neededSince: undefined,
        neededBy: undefined,
        heldByDeadUntil: 0,
        lastUse: 0,
        newcomerAt: -Infinity,
        recorded: [],
        commandedAt: new Map(),
      };
      this.locks.set(name, lock);
    }
    return lock;
  }

  /** From here on its caller does not hold. */
  endHold(record: RequestRecord, now: number): void {
    if (record.holdEndedAt !== undefined) return;
    record.holdEndedAt = now;
    this.get(record.lock).holds.delete(record);
  }

  all(): LockState[] {
    return [...this.locks.values()];
  }
}
