/** A message to this client, as the scripts send it. */
export type Message =
  | {
      readonly kind: 'granted';
      /** Redis time at which it was sent, ms. */
      readonly stamp: number;
      readonly left: number;
      readonly first: number;
      readonly run: readonly number[];
      readonly hash: string;
    }
  | { readonly kind: 'revoked'; readonly first: number; readonly hash: string };

/** `G stamp left first run hash` or `L stamp first hash`, the stamp in µs; undefined for a ping and for what is none of ours. */
export function parseMessage(text: string): Message | undefined {
  const parts = text.split(' ');
  if (parts[0] === 'G' && parts.length === 6) {
    const [, stamp, left, first, run, hash] = parts as [string, string, string, string, string, string];
    return {
      kind: 'granted',
      stamp: Number(stamp) / 1_000,
      left: Number(left),
      first: Number(first),
      run: run.split(',').map(Number),
      hash,
    };
  }
  if (parts[0] === 'L' && parts.length === 4) {
    const [, , first, hash] = parts as [string, string, string, string];
    return { kind: 'revoked', first: Number(first), hash };
  }
  return undefined;
}
