/** What happened in all processes, stamped by the one monotonic clock that they share. */
import { EventEmitter, once } from 'node:events';

/** Milliseconds of the host's monotonic clock: the same in every process. */
export function hostTime() {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** Emits each event under its own name, and as `any`. */
export class EventLog extends EventEmitter {
  events = [];

  #stopped = false;

  /** Keeps and tells nothing from now on: a shop that stays open would fill the memory. */
  stop() {
    this.#stopped = true;
    this.removeAllListeners();
  }

  add(event, details, at = hostTime()) {
    const entry = { event, ...details, at };
    if (this.#stopped) return entry;
    this.events.push(entry);
    this.emit(event, entry);
    return entry;
  }

  all(event) {
    return this.events.filter((entry) => entry.event === event);
  }

  /** The next, or an earlier, event of this name that `fits`. */
  async first(event, fits, signal) {
    for (;;) {
      const found = this.events.find((entry) => entry.event === event && fits(entry));
      if (found) return found;
      await once(this, event, { signal });
    }
  }
}
