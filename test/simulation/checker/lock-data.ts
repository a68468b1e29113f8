import { shareOf } from '../../../lib/stores/redis/terms.js';
import type { Share } from '../../../lib/core/port/lock-store.js';
import type { MiniRedis } from '../mini-redis/mini-redis.js';
import { SortedSet } from '../mini-redis/sorted-set.js';

/** One hold, as the server has it. */
export interface Holding {
  /** `client:sequence`; with a dash in front: it is kept. */
  readonly id: string;
  readonly client: string;
  readonly isKept: boolean;
  /** Server ms. */
  readonly ends: number;
  readonly token: number;
  readonly share: Share | undefined;
}

/** The field `format` of the hash. */
interface LockState {
  readonly used: number;
  readonly end: number;
  /** Whether a look at all holders has not ended. */
  readonly isScanning: boolean;
}

/** What the server has of one lock (docs/internals/protocol.md). */
export interface LockData {
  /** Server ms. */
  readonly now: number;
  readonly state: LockState;
  readonly holdings: readonly Holding[];
  /** Ids, in the order of their tickets. */
  readonly queue: readonly string[];
  /** Their tickets. */
  readonly tickets: ReadonlyMap<string, number>;
  /** The terms of the head of the line. */
  readonly next: Share | undefined;
}

/** As the last command left it. */
export function lockData(redis: MiniRedis, name: string, now: number): LockData {
  const hash = redis.keys.get(name)?.content;
  const fields = hash instanceof Map ? new Map(hash) : new Map<string, string>();
  const line = redis.keys.get(`${name}:queue`)?.content;
  const names = line instanceof SortedSet ? line.range(0, -1) : [];
  const tickets =
    line instanceof SortedSet ? names.map((name) => [idOf(name), line.score(name)!] as const) : [];
  const holdings = [...fields].flatMap(([field, value]) =>
    field.startsWith('h:') ? readHolding(field, value) : [],
  );
  return {
    now,
    state: readState(fields.get('format') ?? ''),
    holdings,
    queue: names.map(idOf),
    tickets: new Map(tickets),
    next: names[0] === undefined ? undefined : shareOf(names[0].split(':')[2] ?? ''),
  };
}

/** Those whose leases have not ended. */
export function live({ holdings }: LockData, now: number): Holding[] {
  return holdings.filter(({ ends }) => ends > now);
}

function weightOf(share: Share | undefined): number {
  return share?.mode === 'permits' ? share.weight : 1;
}

/** Why these may not hold the lock together; undefined if they may. */
export function conflict(holdings: readonly Shared[]): string | undefined {
  if (holdings.length < 2) return undefined;
  const kinds = new Set(holdings.map(({ share }) => share?.mode ?? 'write'));
  if (kinds.size > 1 || kinds.has('write')) return [...kinds].join(' and ');
  const [used, limit] = [usedBy(holdings), limitOf(holdings)];
  return used > limit ? `${used} of ${limit} permits` : undefined;
}

/** Whether the rule would let the head of the line in. */
export function admitsNext({ holdings, next }: LockData): boolean {
  if (holdings.length === 0) return true;
  if (!next || holdings.some(({ share }) => share?.mode !== next.mode)) return false;
  if (next.mode === 'read') return true;
  return usedBy(holdings) + next.weight <= Math.min(next.permits, limitOf(holdings));
}

type Shared = Partial<Pick<Holding, 'share'>>;

export function usedBy(all: readonly Shared[]): number {
  return all.reduce((sum, { share }) => sum + weightOf(share), 0);
}

/** While one holds permits, no more than its own are taken: the smallest counts. */
function limitOf(all: readonly Shared[]): number {
  return Math.min(...all.map(({ share }) => (share?.mode === 'permits' ? share.permits : Infinity)));
}

function readState(text: string): LockState {
  const [, , , used = 0, , end = '-', , scan] = text.split(' ');
  const number = (word: string): number => (word === '-' ? Infinity : Number(word));
  return { used: Number(used), end: number(end), isScanning: scan !== undefined };
}

function readHolding(field: string, value: string): Holding {
  const id = field.slice(2);
  const [ends, token, about = ''] = value.split(' ');
  const [terms = ''] = about.split(':');
  const isKept = id.startsWith('-');
  return {
    id,
    client: id.replace('-', '').split(':')[0]!,
    isKept,
    ends: Number(ends),
    token: Number(token),
    share: shareOf(terms),
  };
}

function idOf(name: string): string {
  return name.split(':', 2).join(':');
}
