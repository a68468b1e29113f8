import { deferred, within } from '../waiting.js';
import { stamp, type Fault, type FaultKind, type HistoryEvent } from './events.js';

/** Everything that was recorded, by whatever process, in the order of arrival (not of the stamps). */
export class History {
  readonly events: HistoryEvent[] = [];
  private readonly watchers = new Set<(event: HistoryEvent) => void>();

  add(event: HistoryEvent): void {
    this.events.push(event);
    for (const watch of this.watchers) watch(event);
  }

  /**
   * The first event that `wanted` accepts, recorded already (at `from` or later) or to come.
   * `what` completes "Still waiting for …".
   */
  async first<E extends HistoryEvent>(
    wanted: (event: HistoryEvent) => event is E,
    ms: number,
    what: string,
    from = 0,
  ): Promise<E> {
    for (let i = from; i < this.events.length; i += 1) {
      const past = this.events[i];
      if (past && wanted(past)) return past;
    }
    const found = deferred<E>();
    const watch = (event: HistoryEvent): void => {
      if (wanted(event)) found.resolve(event);
    };
    this.watchers.add(watch);
    try {
      return await within(found.promise, ms, what);
    } finally {
      this.watchers.delete(watch);
    }
  }

  /** Records that something is done to the system from now on; the result heals it. Say it before you do it. */
  fault(
    kind: FaultKind,
    to: { victim?: string; key?: string } = {},
  ): { readonly fault: Fault; heal(): void } {
    const fault: Fault = { at: stamp(), worker: 'test', type: 'fault', kind, until: Infinity, ...to };
    this.add(fault);
    return { fault, heal: () => (fault.until = Math.min(fault.until, stamp())) };
  }
}
