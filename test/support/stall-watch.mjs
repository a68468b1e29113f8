const PERIOD = 10;
/** Less than that is what timers do anyway, ms. */
const NOTICEABLE = 20;

/**
 * Tells when this process was given no core. Time in which it computed is left out, so an event loop that its own code blocks is no
 * stall.
 */
export class StallWatch {
  #onStall;
  #last = performance.now();
  #used = process.cpuUsage();
  #timer = setInterval(() => this.look(), PERIOD).unref();

  /** @param onStall called with the length of each stall, ms, when it is over */
  constructor(onStall) {
    this.#onStall = onStall;
  }

  /** Tells now of a stall that is just over; otherwise the watch does so within milliseconds. */
  look() {
    const now = performance.now();
    const { user, system } = process.cpuUsage(this.#used);
    const ms = now - this.#last - PERIOD - (user + system) / 1_000;
    this.#last = now;
    this.#used = process.cpuUsage();
    if (ms >= NOTICEABLE) this.#onStall(ms);
  }

  stop() {
    clearInterval(this.#timer);
    this.look();
  }
}
