/** What happened in all processes, stamped by the one monotonic clock that they share. */
import { EventEmitter, once } from 'node:events';

/** Milliseconds of the host's monotonic clock: the same in every process. */
export function hostTime() {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** Emits each entry as `entry`. */
export class EventLog extends EventEmitter {
  entries = [];
  /** A shop that stays open would fill the memory. */
  closed = false;

  add(event, details, at = hostTime()) {
    if (this.closed) return;
    const entry = { at, ...details, event };
    this.entries.push(entry);
    this.emit('entry', entry);
  }

  /** The next, or an earlier, entry of this event that `fits`. */
  async first(event, fits = () => true) {
    for (;;) {
      const found = this.entries.find((entry) => entry.event === event && fits(entry));
      if (found) return found;
      await once(this, 'entry');
    }
  }
}
