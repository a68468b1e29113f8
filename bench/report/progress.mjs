/** What is going on, on stderr: one line that is rewritten on a terminal, a line each elsewhere. */
export class Progress {
  #begun = performance.now();
  #line = '';

  /** @param {{ write: (text: string) => void, isTTY?: boolean }} out */
  constructor(out) {
    this.out = out;
  }

  /** @param {number} done of `all` scenarios */
  scenario(done, all, title) {
    this.#line = `[${done + 1}/${all}] ${title}`;
    this.print(this.#line);
  }

  round(round) {
    if (this.out.isTTY) this.print(`${this.#line}: round ${round + 1}`);
  }

  print(text) {
    const seconds = Math.round((performance.now() - this.#begun) / 1_000);
    this.#write(`${String(seconds).padStart(4)} s  ${text}`);
  }

  end() {
    if (this.out.isTTY) this.out.write('\r\x1b[K');
  }

  #write(text) {
    this.out.write(this.out.isTTY ? `\r\x1b[K${text}` : `${text}\n`);
  }
}
