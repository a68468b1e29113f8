import type { Random } from './random.js';
import type { Happening, TimerOf, World } from './world.js';

/** Node's largest timer delay. */
const LONGEST_TIMER = 2 ** 31 - 1;
/** What a look at the clock takes, ms. */
const LOOK = 0.0002;
/** The wall clock at the beginning of every run. */
export const EPOCH = 1_760_000_000_000;

/** What a process sees of its surroundings, in place of the globals of Node. */
export interface ProcessGlobals {
  readonly setTimeout: (task: (...args: unknown[]) => void, delay?: number, ...args: unknown[]) => SimTimer;
  readonly clearTimeout: (timer: SimTimer | undefined | null) => void;
  readonly setImmediate: (task: (...args: unknown[]) => void, ...args: unknown[]) => void;
  readonly Date: { now(): number };
}

export class SimTimer {
  /** The next time at which the world looks at it. */
  happening: Happening | undefined;

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }
}

/** A simulated process: its clocks, its timers, and whether it runs at all. */
export class SimProcess {
  alive = true;
  paused = false;
  private readonly backlog: Happening[] = [];
  private wallStep = 0;
  private lastLook = 0;
  /** For how long its monotonic clock stood still before, and since when it does now. */
  private stoodStill = 0;
  private standsStillSince: number | undefined;
  private resumedAt = { from: -Infinity, to: -Infinity };

  constructor(
    readonly world: World,
    readonly name: string,
    private readonly clocks: {
      /** The monotonic clock at world time 0, ms. */
      readonly monotonicStart: number;
      /** The wall clock's error at world time 0, ms. */
      readonly wallError: number;
      /** Milliseconds of its monotonic clock, and of its wall clock if that drifts from it, in a millisecond of world time. */
      readonly rate: number;
      readonly wallRate?: number;
    },
  ) {}

  /** Goes on a little with each look, so that code that waits for time to pass within one turn does not wait for ever. */
  readonly performance = {
    now: (): number => {
      const counted = this.world.now - this.notCounted;
      const time = Math.max(this.clocks.monotonicStart + counted * this.clocks.rate, this.lastLook);
      this.lastLook = time + LOOK;
      return time;
    },
  };

  readonly globals: ProcessGlobals = {
    setTimeout: (task, delay = 1, ...args) => this.setTimer(() => task(...args), delay, 'client'),
    clearTimeout: (timer) => {
      if (timer?.happening) timer.happening.run = undefined;
    },
    setImmediate: (task, ...args) => void this.world.schedule(0, () => task(...args), this, 'client'),
    Date: {
      now: () => {
        const { wallError, rate, wallRate = rate } = this.clocks;
        return Math.floor(EPOCH + wallError + this.wallStep + this.world.now * wallRate);
      },
    },
  };

  /** The wall clock is set. */
  stepWallClock(by: number): void {
    this.wallStep += by;
  }

  /** When its host was suspended last, and when that ended: now, if it has not. */
  get lastSuspend(): { readonly from: number; readonly to: number } {
    const { standsStillSince, world, resumedAt } = this;
    return standsStillSince === undefined ? resumedAt : { from: standsStillSince, to: world.now };
  }

  /** A pause of a flow. */
  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.setTimer(resolve, ms, 'flow'));
  }

  /** Neither timers nor input until `resume`. */
  pause(): void {
    this.paused = true;
  }

  /** The host of the paused process is suspended until `resume`: its monotonic clock stands still, and its wall clock goes on. */
  suspend(): void {
    if (this.paused) this.standsStillSince ??= this.world.now;
  }

  /** What was due meanwhile happens now, in its order; timers or input first, as it may be on a real machine. */
  resume(random: Random): void {
    if (!this.paused || !this.alive) return;
    this.paused = false;
    this.stoodStill = this.notCounted;
    this.resumedAt = this.lastSuspend;
    this.standsStillSince = undefined;
    const timersFirst = random.chance(0.5);
    const waiting = this.backlog.splice(0);
    const first = waiting.filter(({ timer }) => (timer !== undefined) === timersFirst);
    const second = waiting.filter(({ timer }) => (timer === undefined) === timersFirst);
    for (const happening of [...first, ...second]) {
      // A timer that an earlier one clears must not run.
      this.world.schedule(0, () => happening.run?.(), this, happening.timer);
    }
  }

  /** Never sends anything again. */
  kill(): void {
    this.alive = false;
    this.backlog.length = 0;
  }

  /** Whether the process lets it happen now. */
  takes(happening: Happening): boolean {
    if (!this.alive) return false;
    if (this.paused) this.backlog.push(happening);
    return !this.paused;
  }

  /** The world time that its monotonic clock has not counted, ms. */
  private get notCounted(): number {
    const { standsStillSince, world } = this;
    return this.stoodStill + (standsStillSince === undefined ? 0 : world.now - standsStillSince);
  }

  /**
   * As Node does: whole milliseconds, counted from the time at which the loop's turn began (whole milliseconds too), so
   * that a timer may fire up to 1 ms early against `performance.now()`. Timers wait by the monotonic clock.
   */
  private setTimer(task: () => void, delay: number, of: TimerOf): SimTimer {
    const whole = delay >= 1 && delay <= LONGEST_TIMER ? Math.trunc(delay) : 1;
    const local = this.performance.now();
    const timer = new SimTimer();
    const arm = (wait: number): void => {
      const { notCounted: before, world } = this;
      const due = world.now + wait;
      const look = (): void => {
        const missing = this.notCounted - before;
        if (missing > 0 && due + missing > world.now) arm(due + missing - world.now);
        else task();
      };
      timer.happening = world.schedule(wait, look, this, of);
    };
    arm((Math.floor(local) + whole - local) / this.clocks.rate);
    return timer;
  }
}
