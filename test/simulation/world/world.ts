import type { SimProcess } from './sim-process.js';

/** Which code of a process set a timer: the client under test, or a flow that calls it. */
export type TimerOf = 'client' | 'flow';

/** Something that happens at a virtual time. */
export interface Happening {
  readonly at: number;
  /** The process in which it happens; none: in the network or on the server. */
  readonly process: SimProcess | undefined;
  /** undefined: no timer, but something that arrives. */
  readonly timer: TimerOf | undefined;
  /** Where it was scheduled; known in traced runs. */
  readonly origin: string | undefined;
  run: (() => void) | undefined;
}

/** More happenings than this without time going on is a loop. */
const MOST_AT_ONE_INSTANT = 20_000;
/** More happenings than this in one run is a storm: a usual run has a hundredth of it. */
const MOST_IN_ALL = 400_000;

/** Virtual time (ms) and everything that is yet to happen in it. */
export class World {
  now = 0;
  /** How many happenings there were. */
  count = 0;
  /** Called after each happening in a process, when its promises have settled. */
  afterEach: (() => void) | undefined;
  /** Something went wrong that ends the run: an error thrown into the event loop, a rejection that is not handled. */
  crash: unknown;
  lines: string[] | undefined;

  /** The next comes last; of those at the same time, the one that was scheduled first. */
  private readonly upcoming: Happening[] = [];

  schedule(delay: number, run: () => void, process?: SimProcess, timer?: TimerOf): Happening {
    const origin = this.lines && timer ? new Error().stack : undefined;
    const { now, upcoming } = this;
    const happening = { at: now + Math.max(0, delay), process, timer, origin, run };
    let [low, high] = [0, upcoming.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (upcoming[middle]!.at > happening.at) low = middle + 1;
      else high = middle;
    }
    upcoming.splice(low, 0, happening);
    return happening;
  }

  trace(line: () => string): void {
    this.lines?.push(`${this.now.toFixed(3).padStart(11)}  ${line()}`);
  }

  /** A timer of a client whose process lives is still to come: of which, and where it was set. */
  pendingTimer(): string | undefined {
    const found = this.upcoming.findLast(
      ({ run, timer, process }) => run !== undefined && timer === 'client' && process?.alive === true,
    );
    return found && `${found.process?.name}, at ${found.at.toFixed(0)} ${found.origin ?? ''}`;
  }

  /**
   * Lets time go on until `end` or until nothing is left to happen.
   *
   * Between two happenings the real event loop gets a turn, so that promises settle as they would between two
   * callbacks of Node.
   */
  run(end: number, stop: () => boolean = () => false): Promise<void> {
    return new Promise((resolve) => {
      let sameInstant = 0;
      const step = (): void => {
        try {
          this.afterEach?.();
        } catch (error) {
          this.crash = error;
        }
        for (;;) {
          const next = this.upcoming.at(-1);
          if (this.crash !== undefined || !next || next.at > end || stop()) {
            if (this.crash === undefined && !stop()) this.now = Math.max(this.now, end);
            resolve();
            return;
          }
          this.upcoming.pop();
          const { run, process } = next;
          if (!run) continue;
          sameInstant = next.at > this.now ? 0 : sameInstant + 1;
          if (sameInstant > MOST_AT_ONE_INSTANT) {
            this.crash = new Error('livelock: time does not go on');
            continue;
          }
          this.now = next.at;
          this.count += 1;
          if (this.count > MOST_IN_ALL) this.crash = new Error('storm: too much happens');
          if (process && !process.takes(next)) continue;
          if (process) next.run = undefined;
          try {
            run();
          } catch (error) {
            this.crash = error;
          }
          if (!process) continue;
          setImmediate(step);
          return;
        }
      };
      setImmediate(step);
    });
  }
}
