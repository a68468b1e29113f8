import { readShares, type PresentShare } from './commands/reply.js';

/** A message to this client, as the scripts send it. */
export type Message =
  | {
      readonly kind: 'granted';
      /** Redis time at which it was sent, ms. */
      readonly stamp: number;
      readonly left: number;
      readonly first: number;
      readonly batch: readonly number[];
      readonly hash: string;
    }
  | { readonly kind: 'revoked'; readonly first: number; readonly hash: string }
  /** Requests of this client hold the lock together with others. */
  | {
      readonly kind: 'shared';
      readonly stamp: number;
      readonly left: number;
      readonly list: readonly PresentShare[];
      readonly hash: string;
    }
  /** A shared hold was taken away. */
  | { readonly kind: 'revoked share'; readonly share: PresentShare; readonly hash: string }
  /** The lock is kept after its hold (`holdAtLeast`): the end of the lease that this client knows is no longer right. */
  | { readonly kind: 'kept'; readonly hash: string };

/** The name of the hash comes last: it begins with the key prefix, which may contain spaces. */
const GRANTED = /^granted (\d{1,16}) (\d{1,16}) (\d{1,16}) (\d{1,16}(?:,\d{1,16})*) (.*)$/s;
const KEPT = /^kept \d{1,16} (.*)$/s;
const SHARED = /^shared (\d{1,16}) (\d{1,16}) ([\d:,]+) (.*)$/s;
const REVOKED_SHARE = /^revoked-share \d{1,16} (\d{1,16}:\d{1,16}) (.*)$/s;
const REVOKED = /^revoked \d{1,16} (\d{1,16}) (.*)$/s;

/**
 * `granted <time> <ms left> <first token> <requests> <key>`, `revoked <time> <first token> <key>`, `kept <time> <key>`,
 * `shared <time> <ms left> <holds> <key>` or `revoked-share <time> <hold> <key>`, the time in µs; undefined for a ping and for any other text.
 */
export function parseMessage(text: string): Message | undefined {
  const granted = GRANTED.exec(text);
  if (granted) {
    const [, stamp, left, first, batch = '', hash = ''] = granted;
    return {
      kind: 'granted',
      stamp: Number(stamp) / 1_000,
      left: Number(left),
      first: Number(first),
      batch: batch.split(',').map(Number),
      hash,
    };
  }
  const revoked = REVOKED.exec(text);
  if (revoked) {
    const [, first, hash = ''] = revoked;
    return { kind: 'revoked', first: Number(first), hash };
  }
  const kept = KEPT.exec(text);
  if (kept) return { kind: 'kept', hash: kept[1] ?? '' };
  const shared = SHARED.exec(text);
  if (shared) {
    const [, stamp, left, list = '', hash = ''] = shared;
    return {
      kind: 'shared',
      stamp: Number(stamp) / 1_000,
      left: Number(left),
      list: readShares(list),
      hash,
    };
  }
  const revokedShare = REVOKED_SHARE.exec(text);
  if (revokedShare) {
    const [, share = '', hash = ''] = revokedShare;
    return { kind: 'revoked share', share: readShares(share)[0]!, hash };
  }
  return undefined;
}

/** Milliseconds left of a lease of `told` ms, announced by a message that may be `age` ms old; 0 if half of the lease may have passed. */
export function leftAfter(age: number, told: number): number {
  return age < told / 2 ? told - age : 0;
}
