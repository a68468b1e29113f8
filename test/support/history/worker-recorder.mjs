import { writeSync } from 'node:fs';

/** Writes events to a pipe, each at once and whole. */
export class Recorder {
  #fd;

  constructor(fd) {
    this.#fd = fd;
  }

  /** @param at when it happened, if that was not now */
  record(type, fields, at = now()) {
    let rest = Buffer.from(`${JSON.stringify({ at, type, ...fields })}\n`);
    while (rest.length > 0) {
      try {
        rest = rest.subarray(writeSync(this.#fd, rest));
      } catch (error) {
        if (error.code !== 'EAGAIN') process.exit(1); // nobody listens any more
      }
    }
  }
}

/** Nanoseconds on the clock that all processes of this host share. */
export function now() {
  return Number(process.hrtime.bigint());
}
