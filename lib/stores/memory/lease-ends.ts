import { Watchdog } from '../../core/watchdog.js';
import { type MemoryGrant } from './memory-grant.js';

/** Watches the fixed leases of a store; without any, there is no timer. */
export class LeaseEnds {
  private watchdog: Watchdog | undefined;

  watch(grant: MemoryGrant): void {
    if (grant.due === Infinity) return;
    this.watchdog ??= new Watchdog();
    this.watchdog.schedule(grant, grant.due);
  }

  forget(grant: MemoryGrant): void {
    this.watchdog?.cancel(grant);
    if (this.watchdog?.size !== 0) return;
    // By itself a watchdog leaves its timer to run out.
    this.watchdog.stop();
    this.watchdog = undefined;
  }
}
