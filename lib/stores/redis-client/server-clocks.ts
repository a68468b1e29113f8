import { ServerClock } from './server-clock.js';

/**
 * The clocks of the servers that answer (R11): one, or one for each node of a Cluster. Nodes need not agree on the time,
 * and what is reckoned for one by the clock of another would be wrong by the difference.
 */
export class ServerClocks {
  private readonly clocks = new Map<string, ServerClock>();
  private readonly unknown = new ServerClock();
  /** The one that was asked for last, which is nearly always the one that is asked for next. */
  private last: { readonly address: string; readonly clock: ServerClock } | undefined;

  /** @param onStep the clock of a server was set: by at least so many ms (negative: back) */
  constructor(private readonly onStep: (step: number) => void) {}

  /** The clock of the server at `address`; where the server is not known, a clock without samples. */
  of(address: string | undefined): ServerClock {
    if (address === undefined) {
      this.unknown.reset();
      return this.unknown;
    }
    if (this.last?.address === address) return this.last.clock;
    let clock = this.clocks.get(address);
    if (!clock) {
      const made = new ServerClock((step) => {
        // It may be another node that answered, while a slot moves: nothing is known until the next answer.
        made.reset();
        this.onStep(step);
      });
      clock = made;
      this.clocks.set(address, clock);
    }
    this.last = { address, clock };
    return clock;
  }

  /** Another server may answer at `address` next, with another clock. */
  forget(address: string): void {
    this.clocks.delete(address);
    this.last = undefined;
  }
}
