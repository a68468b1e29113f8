/** A line in which something happened. */
interface ChangedLine {
  arrange(): void;
}

/**
 * Arranges what happened in lines at the end of the turn of the event loop, once for each line. Callers who were granted have
 * gone on by then, and what they said is written: nobody waits for this bookkeeping. A line that is idle is not forgotten
 * before, so whoever releases and asks again at once finds it.
 */
export class ChangedLines {
  private lines: ChangedLine[] = [];
  private readonly arrange = (): void => {
    const { lines } = this;
    this.lines = [];
    for (const line of lines) line.arrange();
  };

  add(line: ChangedLine): void {
    if (this.lines.push(line) === 1) setImmediate(this.arrange);
  }
}
