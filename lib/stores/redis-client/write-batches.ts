import type { Writable } from 'node:stream';

/**
 * So many commands go out in one write. System calls are what a busy client spends most on; but the server should work
 * while the client still prepares the rest, and not begin when that is done.
 */
const BATCH = 16;
/** Commands that follow each other within so many ms are taken for such of one turn. No server answers so soon. */
const APART = 0.03;

/** Gathers what is sent in one turn of the event loop into few writes. */
export class WriteBatches {
  private stream: Writable | undefined;
  private sent = 0;
  private lastAt = -Infinity;
  private readonly endTurn = (): void => {
    this.stream?.uncork();
    this.stream = undefined;
  };

  /** A command will be written to `stream` next, at `time` on the monotonic clock. */
  before(stream: Writable, time: number): void {
    const alone = time - this.lastAt > APART;
    this.lastAt = time;
    if (this.stream === undefined) {
      // It goes at once: it may be the only one of its turn, and to find out would cost it a tick.
      if (alone) return;
      this.stream = stream;
      this.sent = 0;
      stream.cork();
      process.nextTick(this.endTurn);
    }
    // The connection was replaced within the turn.
    if (this.stream !== stream) return;
    if (this.sent > 0 && this.sent % BATCH === 0) {
      stream.uncork();
      stream.cork();
    }
    this.sent += 1;
  }
}
