/** A server-sent event. It is made once for all streams: those whose clients do not read keep the same bytes, not copies. */
export function eventOf(name: string, data: object): Uint8Array {
  return Buffer.from(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`);
}
