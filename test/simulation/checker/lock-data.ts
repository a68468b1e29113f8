import type { Share } from '../../../lib/core/port/lock-store.js';
import { SortedSet } from '../mini-redis/sorted-set.js';
import type { MiniRedis } from '../mini-redis/mini-redis.js';
import { KEPT } from './present-grant.js';

/** A request that the server has in its line, or that holds the lock, as docs/protocol.md keeps it. */
export interface Place {
  /** The id by which its client's store calls itself. */
  readonly owner: string;
  readonly sequence: number;
  /** Undefined: it holds the lock alone. */
  readonly share: Share | undefined;
}

export interface Holding extends Place {
  /** Its fencing token, or the number of its shared hold. */
  readonly number: number;
  /** When it was granted, and when it ends (server ms). */
  readonly since: number;
  readonly end: number;
  /** The request is over, and `holdAtLeast` keeps what it held. */
  readonly kept: boolean;
}

/** What the server has of a lock, of whatever kinds its requests are. */
export interface LockData {
  /** Server ms. */
  readonly now: number;
  readonly holdings: readonly Holding[];
  readonly queue: readonly Place[];
  /** Of a shared lock, as its hash says: the sum of the weights, their limit, and times around the ends of their leases. */
  readonly shared: { readonly used: number; readonly firstEnd: number; readonly lastEnd: number } | undefined;
  readonly limit: number | undefined;
}

export const NO_DATA: LockData = { now: 0, holdings: [], queue: [], shared: undefined, limit: undefined };

export function lockData(redis: MiniRedis, key: string): LockData {
  const [seconds, micros] = redis.execute('TIME', []) as string[];
  const now = Number(seconds) * 1000 + Math.floor(Number(micros) / 1000);
  const line = redis.keys.get(`${key}:queue`)?.content;
  const queue = line instanceof SortedSet ? line.entries().map(([member]) => placeOf(member)) : [];
  const hash = redis.keys.get(key)?.content;
  if (!(hash instanceof Map)) return { ...NO_DATA, now, queue };
  const number = (field: string): number => Number(hash.get(field));
  const state = hash.get('state') ?? '';
  const holdings = state.startsWith('held') ? exclusive(hash) : [];
  for (const [field, record] of hash) {
    if (field.startsWith('held:')) holdings.push(...sharesIn(field.slice('held:'.length), record));
  }
  const shared = state.startsWith('shared')
    ? { used: number('used'), firstEnd: number('first-end'), lastEnd: number('last-end') }
    : undefined;
  return { now, holdings, queue, shared, limit: hash.has('limit') ? number('limit') : undefined };
}

export function nameOfPlace({ owner, sequence }: Place): string {
  return `${owner}:${sequence}`;
}

/** The requests that `releaseShared` names. */
export function sequencesOf(requests: string): string[] {
  return requests.split(' ').map((request) => request.slice(0, request.indexOf(':')));
}

export function nameOfHolding(holding: Holding): string {
  return `${nameOfPlace(holding)}:${holding.number}`;
}

/** What the server honours now. */
export function live({ holdings, now }: LockData, at = now): Holding[] {
  return holdings.filter(({ end }) => end > at);
}

function exclusive(hash: ReadonlyMap<string, string>): Holding[] {
  const owner = hash.get('holder') ?? '';
  const [token, since] = [Number(hash.get('token')), Number(hash.get('since'))];
  const end = since + Number(hash.get('lease'));
  const sequences = (hash.get('requests') ?? '').split(',');
  return sequences.map((sequence, index) => ({
    owner,
    sequence: Number(sequence),
    share: undefined,
    number: token + index,
    since,
    end,
    kept: owner === KEPT,
  }));
}

function sharesIn(owner: string, record: string): Holding[] {
  const [, common = '', entries = ''] = /^end=(\d+) requests=(\S*) label=/.exec(record) ?? [];
  return [...entries.matchAll(/,(\d+):(\d+):(\d*):(\d+):(k?)(\d*)/g)].map(
    ([, sequence, weight, permits, number, kept, own]) => ({
      owner,
      sequence: Number(sequence),
      share: permits
        ? { mode: 'permits', weight: Number(weight), permits: Number(permits) }
        : { mode: 'read' },
      number: Number(number),
      since: Math.floor(Number(number) / 1000),
      end: Number(own || common),
      kept: kept !== '',
    }),
  );
}

function placeOf(member: string): Place {
  const [owner = '', sequence, mark = ''] = member.split(':');
  const [, weight, permits] = /^p(\d+)\/(\d+)/.exec(mark) ?? [];
  const share: Share | undefined = permits
    ? { mode: 'permits', weight: Number(weight), permits: Number(permits) }
    : mark.startsWith('r')
      ? { mode: 'read' }
      : undefined;
  return { owner, sequence: Number(sequence), share };
}
