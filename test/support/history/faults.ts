import { NS_PER_MS, type Fault, type HistoryEvent } from './events.js';

/** After these the server may give a lock to a second holder, whatever a client does. */
const TAKING: readonly Fault['kind'][] = ['dataLost', 'forced', 'clockStepped'];

/** What was done to the system during a history. */
export class Faults {
  readonly all: readonly Fault[];

  constructor(events: readonly HistoryEvent[]) {
    this.all = events.filter((event): event is Fault => event.type === 'fault');
  }

  killedAt(worker: string): number {
    return Math.min(
      ...this.all.filter(({ kind, victim }) => kind === 'killed' && victim === worker).map(({ at }) => at),
      Infinity,
    );
  }

  /**
   * The faults that `worker` (absent: any worker) may have felt between two stamps, where the lock `key` is concerned; a
   * healed one is felt for `linger` ms more.
   */
  felt(key: string, from: number, to: number, linger: number, worker?: string): Fault[] {
    return this.all.filter(
      (fault) =>
        fault.at <= to &&
        fault.until + linger * NS_PER_MS >= from &&
        (fault.key === undefined || fault.key === key) &&
        (worker === undefined || fault.victim === undefined || fault.victim === worker),
    );
  }

  /** One that took the lock `key` from its holder, or may have, between two stamps. */
  taking(key: string, from: number, to: number): Fault | undefined {
    return this.all.find(
      (fault) =>
        TAKING.includes(fault.kind) &&
        (fault.key === undefined || fault.key === key) &&
        fault.at <= to &&
        fault.until >= from,
    );
  }
}
