const CR = 0x0d;

/** Cuts a stream of RESP2 or RESP3 into its top-level values, byte for byte as they came. */
export class FrameSplitter {
  private rest: Buffer = Buffer.alloc(0);

  push(chunk: Buffer): Buffer[] {
    this.rest = this.rest.length === 0 ? chunk : Buffer.concat([this.rest, chunk]);
    const frames: Buffer[] = [];
    let from = 0;
    for (let end = endOfValue(this.rest, 0); end > 0; end = endOfValue(this.rest, from)) {
      frames.push(this.rest.subarray(from, end));
      from = end;
    }
    this.rest = this.rest.subarray(from);
    return frames;
  }
}

/** Where the value that begins at `start` ends; -1 if it is not there as a whole. */
function endOfValue(data: Buffer, start: number): number {
  const lineEnd = data.indexOf(CR, start);
  if (lineEnd < 0 || lineEnd + 2 > data.length) return -1;
  const end = lineEnd + 2;
  const type = String.fromCharCode(data[start] ?? 0);
  const size = Number(data.toString('latin1', start + 1, lineEnd));
  switch (type) {
    case '$':
    case '!':
    case '=':
      if (size < 0) return end;
      return end + size + 2 <= data.length ? end + size + 2 : -1;
    case '*':
    case '~':
    case '>':
      return endOfValues(data, end, size);
    case '%':
      return endOfValues(data, end, 2 * size);
    case '|': // attributes, and then the value that they belong to
      return endOfValues(data, end, 2 * size + 1);
    default:
      return end;
  }
}

function endOfValues(data: Buffer, start: number, many: number): number {
  let end = start;
  for (let i = 0; i < many && end >= 0; i += 1) end = endOfValue(data, end);
  return end;
}

/** The texts of a command, a message, or any list of bulk strings; empty for another value. */
export function textsOf(frame: Buffer): string[] {
  const texts: string[] = [];
  if (frame[0] !== 0x2a && frame[0] !== 0x3e) return texts; // * and >
  let at = frame.indexOf(CR) + 2;
  while (at < frame.length) {
    const end = endOfValue(frame, at);
    if (frame[at] === 0x24 /* $ */) texts.push(frame.toString('utf8', frame.indexOf(CR, at) + 2, end - 2));
    else texts.push(frame.toString('utf8', at + 1, end - 2));
    at = end;
  }
  return texts;
}
