/** What people see: plain lines, in colour where there is any. */
import { styleText } from 'node:util';

const COLOURS = { A: 'cyan', B: 'magenta', C: 'yellow' };

export class Screen {
  constructor(stream) {
    this.stream = stream;
    this.coloured = Boolean(stream.isTTY) && !process.env.NO_COLOR;
  }

  print(text = '') {
    this.stream.write(`${text}\n`);
  }

  title(text) {
    this.print(`\n${this.#style('bold', text)}`);
  }

  alarm(text) {
    this.print(this.#style('red', text));
  }

  success(text) {
    this.print(this.#style('green', text));
  }

  /** The name of an instance. */
  name(instance) {
    return this.#style(COLOURS[instance] ?? 'reset', instance);
  }

  #style(format, text) {
    return this.coloured ? styleText(format, text) : text;
  }
}

export function seconds(ms) {
  return `${(ms / 1_000).toFixed(2)} s`;
}

/** `3 orders`, `1 order` */
export function count(number, noun) {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}
