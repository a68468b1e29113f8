import { writeSync } from 'node:fs';
import { StallWatch } from '../stall-watch.mjs';

/** Writes events to a pipe or a file, each at once and whole. */
export class Recorder {
  #fd;
  #watch;

  constructor(fd) {
    this.#fd = fd;
  }

  /** From now on also when this process was given no core, before what came late by it. */
  watchStalls() {
    this.#watch = new StallWatch((ms) => this.record('stall', { ms: Math.round(ms) }));
  }

  /** @param at when it happened, if that was not now */
  record(type, fields, at = now()) {
    this.#watch?.look();
    this.write(`${JSON.stringify({ at, type, ...fields })}\n`);
  }

  write(text) {
    let rest = Buffer.from(text);
    while (rest.length > 0) {
      try {
        rest = rest.subarray(writeSync(this.#fd, rest));
      } catch (error) {
        if (error.code !== 'EAGAIN') process.exit(1); // the parent reads no more
      }
    }
  }
}

/** Writes what happens in one turn of the event loop together, at its end: a process that is killed loses that turn. */
export class TurnRecorder extends Recorder {
  #text = '';

  write(text) {
    if (this.#text === '') setImmediate(() => this.flush());
    this.#text += text;
  }

  flush() {
    const text = this.#text;
    this.#text = '';
    super.write(text);
  }
}

/** Nanoseconds on the clock that all processes of this host share. */
export function now() {
  return Number(process.hrtime.bigint());
}
