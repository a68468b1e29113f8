import type { Socket } from 'node:net';

/** What a direction of a connection suffers. */
export interface Disturbance {
  /** Milliseconds that each byte takes longer. */
  readonly delay?: number;
  readonly bytesPerSecond?: number;
  /** Nothing gets through, not even that a side has closed. What was sent meanwhile arrives when it is healed, as TCP repeats it. */
  readonly blackHole?: boolean;
}

/** One direction of a connection: what goes in comes out in the same order, later or slower or not at all. */
export class Pipe {
  private readonly queue: { bytes: Buffer | undefined; due: number }[] = [];
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly to: Socket,
    private readonly disturbances: () => readonly Disturbance[],
  ) {}

  send(bytes: Buffer): void {
    this.put(bytes);
  }

  /** The sender has closed its side. */
  end(): void {
    this.put(undefined);
  }

  /** Disturbances have changed. */
  look(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.pump();
  }

  stop(): void {
    clearTimeout(this.timer);
    this.queue.length = 0;
  }

  private put(bytes: Buffer | undefined): void {
    const delay = Math.max(0, ...this.disturbances().map((one) => one.delay ?? 0));
    this.queue.push({ bytes, due: performance.now() + delay });
    if (!this.timer) this.pump();
  }

  private pump(): void {
    this.timer = undefined;
    for (let head = this.queue[0]; head; head = this.queue[0]) {
      const active = this.disturbances();
      if (active.some((one) => one.blackHole)) return;
      const wait = head.due - performance.now();
      if (wait > 0) return this.pumpIn(wait);
      if (!this.to.writable) return this.stop(); // it was half-closed, or is gone
      const rate = Math.min(...active.map((one) => one.bytesPerSecond ?? Infinity), Infinity);
      if (head.bytes === undefined) this.to.end();
      else if (rate === Infinity) this.to.write(head.bytes);
      else {
        this.to.write(head.bytes.subarray(0, 1));
        head.bytes = head.bytes.subarray(1);
        if (head.bytes.length === 0) this.queue.shift();
        return this.pumpIn(1_000 / rate);
      }
      this.queue.shift();
    }
  }

  private pumpIn(ms: number): void {
    this.timer = setTimeout(() => this.pump(), Math.ceil(ms));
  }
}
