import { readMessage } from '../../../lib/stores/redis/reply.js';
import type { Ran } from '../mini-redis/mini-redis.js';

/** What a script granted to one client. */
export interface ServerGrant {
  readonly hash: string;
  readonly client: string;
  /** Of several shared holds the last. */
  readonly token: number;
  readonly sequences: readonly string[];
}

/** What a script did for one of its locks. */
export interface Part {
  readonly hash: string;
  readonly args: readonly string[];
  readonly reply: unknown;
}

/** A script for several locks has as many words for each, and answers for each (includes/several.lua). */
export function partsOf({ keys, args, reply }: Ran): Part[] {
  const locks = keys.filter((_, i) => i % 3 === 0);
  const words = args.length / locks.length;
  return locks.map((hash, i) => {
    const own = args.slice(i * words, (i + 1) * words);
    return { hash, args: own, reply: Array.isArray(reply) && locks.length > 1 ? reply[i] : reply };
  });
}

/** What a script granted, as its reply and its messages tell. */
export function grantsOf(script: string, ran: Ran): ServerGrant[] {
  const grants = partsOf(ran).flatMap(({ hash, args: [caller = ''], reply }) => {
    const [client = '', sequence = ''] = caller.split(':');
    if (script === 'acquire' && typeof reply === 'string' && /^\d/.test(reply))
      return [{ hash, client, token: Number(reply), sequences: [sequence] }];
    const text: unknown = Array.isArray(reply) ? reply[2] : undefined;
    const [token, , sequences] = typeof text === 'string' ? text.split(' ') : [];
    return sequences ? [{ hash, client, token: Number(token), sequences: sequences.split(',') }] : [];
  });
  for (const [channel, text] of ran.published) {
    // `held` reminds of a grant.
    const message = text.startsWith('granted ') ? readMessage(text) : undefined;
    if (message?.kind !== 'granted') continue;
    const { token, sequences } = message.granted;
    const client = channel.slice(channel.lastIndexOf(':') + 1);
    grants.push({ hash: message.hash, client, token, sequences: sequences.map(String) });
  }
  return grants.sort((one, other) => one.token - other.token);
}
