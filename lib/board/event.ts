/** A server-sent event, made once for all streams, so that streams of slow clients keep the same bytes in memory and not copies. */
export function eventOf(name: string, data: object): Uint8Array {
  return Buffer.from(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`);
}
