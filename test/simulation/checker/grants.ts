import type { Ran } from '../mini-redis/mini-redis.js';

/** What a script granted to one client. */
export interface ServerGrant {
  readonly hash: string;
  readonly client: string;
  /** Of a batch the first token, of several shared holds the last. */
  readonly token: number;
  readonly sequences: readonly string[];
}

/** What a script granted, as its reply and its messages tell. */
export function grantsOf(script: string, { keys, args, reply, published }: Ran): ServerGrant[] {
  const [caller = ''] = args;
  const [client = '', sequence = ''] = caller.split(':');
  const grants: ServerGrant[] = [];
  if (script === 'acquire' && typeof reply === 'string')
    grants.push({ hash: keys[0]!, client, token: Number(reply), sequences: [sequence] });
  if (Array.isArray(reply)) {
    const replies = script === 'heartbeat' ? reply : [reply];
    replies.forEach((one, i) => {
      const text = Array.isArray(one) ? one[2] : undefined;
      const [token, , sequences] = typeof text === 'string' ? text.split(' ') : [];
      if (sequences)
        grants.push({ hash: keys[3 * i]!, client, token: Number(token), sequences: sequences.split(',') });
    });
  }
  for (const [channel, text] of published) {
    const [, token, sequences = '', hash] = /^granted (\d+) \d+ ([\d,]+) (.*)$/s.exec(text) ?? [];
    if (hash === undefined) continue;
    grants.push({
      hash,
      client: channel.slice(channel.lastIndexOf(':') + 1),
      token: Number(token),
      sequences: sequences.split(','),
    });
  }
  return grants.sort((one, other) => one.token - other.token);
}
