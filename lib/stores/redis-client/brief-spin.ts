/** How long the event loop looks for an answer before it sleeps, ms. A server on this machine answers sooner. */
const SPIN = 0.15;
/** So often in a row it may be in vain before it is given a rest. */
const TOLERATED = 2;
/** The longest rest: commands for which it is not tried. */
const LONGEST_REST = 64;

/**
 * Keeps the event loop looking for an answer that is about to come, where it would sleep until it is there.
 *
 * As an adaptive mutex spins before it parks: to fall asleep and to be woken takes longer than a server close by takes to
 * answer (docs/performance.md has the figures). It costs nobody much: it is for a command that is alone under way, so
 * that a busy client never does it; it looks for 0.15 ms at most; and where that goes on to be in vain it rests for 4, 8,
 * … 64 commands, so that a client whose server is further away spends 2.3 µs a command on it. Whatever else happens in
 * the process is served meanwhile: each look is a turn of the event loop.
 */
export class BriefSpin {
  private until = 0;
  private wanted = false;
  private looking = false;
  /** In vain, in a row. */
  private misses = 0;
  /** Commands to pass over before the next try. */
  private rest = 0;
  private readonly look = (): void => {
    if (this.wanted && performance.now() < this.until) {
      setImmediate(this.look);
      return;
    }
    this.looking = false;
    if (this.wanted) this.missed();
  };

  /** A command is sent now (`time`, on the monotonic clock), and no other is under way. */
  begin(time: number): void {
    if (this.rest > 0) {
      this.rest -= 1;
      return;
    }
    this.wanted = true;
    this.until = time + SPIN;
    if (this.looking) return;
    this.looking = true;
    setImmediate(this.look);
  }

  /** An answer came. */
  end(): void {
    if (!this.wanted) return;
    this.wanted = false;
    this.misses = 0;
  }

  /** It is not alone any more: with others to come there is time to sleep. */
  stop(): void {
    this.wanted = false;
  }

  private missed(): void {
    this.wanted = false;
    this.misses += 1;
    if (this.misses > TOLERATED) this.rest = Math.min(2 ** (this.misses - 1), LONGEST_REST);
  }
}
