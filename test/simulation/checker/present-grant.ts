import type { MiniRedis } from '../mini-redis/mini-redis.js';

/** The one place where the checker looks at how the store keeps its data (docs/protocol.md says how). */

/** Who holds a lock that is kept without a holder. */
export const KEPT = 'kept';

export interface PresentGrant {
  /** The id by which its holder's store calls itself. */
  readonly owner: string;
  readonly first: number;
  readonly last: number;
  /** Of its lease, ms. */
  readonly left: number;
}

/**
 * The grant that the server honours, read from the lock's hash. The checker sees the server giving a lock up before a
 * second holder does.
 */
export function presentGrant(redis: MiniRedis, key: string): PresentGrant | 'free' | undefined {
  const fields = ['state', 'holder', 'requests', 'token', 'since', 'lease'];
  const [state, owner, run, first, since, lease] = redis.execute('HMGET', [key, ...fields]) as string[];
  if (state === null || /^free(\+\w+)?$/.test(state!)) return 'free';
  if (!/^held(\+\w+)?$/.test(state!)) return undefined;
  if (!owner || !run || !first || !since || !lease) return undefined;
  return {
    owner,
    first: Number(first),
    last: Number(first) + run.split(',').length - 1,
    left: Number(since) + Number(lease) - serverMs(redis.execute('TIME', []) as string[]),
  };
}

/** The key of the marker of strict mode, by that of a lock. */
function markerOf(key: string): string {
  return `${key.slice(0, key.indexOf(':{'))}:primary`;
}

/** Whether this key is kept for more than one lock. */
export function isMarker(key: string): boolean {
  return !key.includes('{') && key.endsWith(':primary');
}

/** Whether the server may not grant to strict clients yet. */
export function waitsAsNew(redis: MiniRedis, key: string): boolean {
  const found = redis.execute('HMGET', [markerOf(key), 'id', 'since', 'lease', 'before']) as string[];
  const [id, since, lease, before] = found;
  return (
    id !== redis.runId ||
    (redis.historyBefore !== '' && before !== redis.historyBefore) ||
    serverMs(redis.execute('TIME', []) as string[]) < Number(since) + Number(lease)
  );
}

/** The grant of which a message tells, and the lock; undefined: of none. */
export function announcedGrant(
  message: string,
): { readonly lock: string; readonly first: number } | undefined {
  const [, first, lock] = /^granted \d+ \d+ (\d+) [\d,]+ (.*)$/s.exec(message) ?? [];
  return lock === undefined ? undefined : { lock, first: Number(first) };
}

/** How many shared holds of a lock a message tells of. */
export function announcedShares(
  message: string,
): { readonly lock: string; readonly count: number } | undefined {
  const [, list = '', lock] = /^shared \d+ \d+ (\S+) (.*)$/s.exec(message) ?? [];
  return lock === undefined ? undefined : { lock, count: list.split(',').length };
}

/** The lock of which a message tells that it is kept. */
export function announcedKept(message: string): string | undefined {
  return /^kept \d+ (.*)$/s.exec(message)?.[1];
}

/** Whether the server knows the last token of a lock. */
export function remembersToken(redis: MiniRedis, key: string): boolean {
  return redis.execute('HGET', [key, 'last-token']) !== null;
}

/** The liveness deadline that lies furthest ahead, as ms from now; undefined where no client waits. */
export function furthestDeadline(redis: MiniRedis, key: string): number | undefined {
  const found = redis.execute('ZREVRANGE', [`${key}:clients`, '0', '0', 'WITHSCORES']) as string[];
  const time = redis.execute('TIME', []) as string[];
  return found[1] === undefined ? undefined : Number(found[1]) - serverMs(time);
}

/** How long each waiting client may still be silent, ms, by the id of its store. */
export function* silenceLeft(redis: MiniRedis, key: string): Iterable<[id: string, left: number]> {
  const found = redis.execute('ZRANGE', [`${key}:clients`, '0', '-1', 'WITHSCORES']) as string[];
  const time = serverMs(redis.execute('TIME', []) as string[]);
  for (let i = 0; i < found.length; i += 2) yield [found[i] as string, Number(found[i + 1]) - time];
}

/** Whether the keys of the lock live as long as what is in them: which of them does not, and for how many ms it would have to. */
export function expiresTooEarly(redis: MiniRedis, key: string): string | undefined {
  const left = (of: string): number => Number(redis.execute('PTTL', [of]));
  const grant = presentGrant(redis, key);
  if (grant !== undefined && grant !== 'free' && grant.left > 0 && left(key) < grant.left) {
    return `${key} expires in ${left(key)} ms, its lease ends in ${grant.left} ms`;
  }
  const members = redis.execute('ZRANGE', [`${key}:queue`, '0', '-1']) as string[];
  if (members.length === 0) return undefined;
  const inLine = new Set(members.map((member) => member.split(':', 1)[0] ?? ''));
  const time = serverMs(redis.execute('TIME', []) as string[]);
  const scores = [...inLine].map((name) => redis.execute('ZSCORE', [`${key}:clients`, name]));
  const deadline = Math.max(0, ...scores.map((score) => Number(score ?? 0) - time));
  if (deadline === 0) return undefined;
  const line = [`${key}:queue`, `${key}:clients`].find((of) => left(of) < deadline);
  return (
    line &&
    `${line} expires in ${left(line)} ms, a client in line has ${deadline} ms to be marked alive again`
  );
}

/** How many requests are in a queue that `state` says is empty. */
export function deniedRequests(redis: MiniRedis, key: string): number {
  const state = redis.execute('HGET', [key, 'state']) as string | null;
  return /^(held|free|shared)$/.test(state ?? '') ? Number(redis.execute('ZCARD', [`${key}:queue`])) : 0;
}

/** The clients of which the lock's hash keeps a record. */
export function recordedClients(redis: MiniRedis, key: string): string[] {
  const hash = redis.keys.get(key)?.content;
  if (!(hash instanceof Map)) return [];
  return [...hash.keys()]
    .filter((field) => field.startsWith('client:'))
    .map((field) => field.slice('client:'.length));
}

/** The generation in the record of a client (M5). */
export function generationOf(redis: MiniRedis, key: string, id: string): string {
  const record = redis.execute('HGET', [key, `client:${id}`]) as string | null;
  return /generation=(\S+)/.exec(record ?? '')?.[1] ?? '';
}

function serverMs(time: readonly string[]): number {
  return Number(time[0]) * 1000 + Math.floor(Number(time[1]) / 1000);
}
