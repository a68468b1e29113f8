import type { Writable } from 'node:stream';

/**
 * So many commands go out in one write. System calls are what a busy client spends most on; but the server should work
 * while the client still prepares the rest, and not begin when that is done.
 */
const BATCH = 16;

/** Gathers what is sent in one turn of the event loop into few writes. */
export class WriteBatches {
  private stream: Writable | undefined;
  private sent = 0;
  private readonly endTurn = (): void => {
    const { stream } = this;
    const corked = this.sent > 1;
    this.stream = undefined;
    this.sent = 0;
    if (corked) stream?.uncork();
  };

  /** A command will be written to `stream` next. */
  before(stream: Writable): void {
    if (this.stream === undefined) {
      // The first of a turn goes at once: it may be the only one.
      this.stream = stream;
      this.sent = 1;
      process.nextTick(this.endTurn);
      return;
    }
    // The connection was replaced within the turn.
    if (this.stream !== stream) return;
    if (this.sent === 1) {
      stream.cork();
    } else if (this.sent % BATCH === 0) {
      stream.uncork();
      stream.cork();
    }
    this.sent += 1;
  }
}
