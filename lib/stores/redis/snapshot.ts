import { LockHolderChangedError } from '../../core/errors/errors.js';
import type { KeptLock, LockHolder, LockSnapshot, LockWaiter } from '../../core/port/lock-store.js';
import { ROW_LENGTH, ANNOUNCED_WITHIN } from './row.js';
import { shareOf } from './terms.js';

/** What scripts/inspect.lua replies. */
export type RawInspection = readonly [
  now: string,
  mode: string,
  used: string,
  limit: string,
  /** field, value, … */
  holds: readonly string[],
  waiting: number,
  /** name, ticket, … */
  line: readonly string[],
  /** client, until when it counts as alive, …: of those in line */
  clients: readonly string[],
  /** channel, how many listen, … */
  listeners: readonly (string | number)[],
  token: string,
];

interface Held extends LockHolder {
  /** `client:sequence`, after a `-` if nobody holds it and it is only kept. */
  readonly name: string;
  readonly number: number;
}

/** Reads the reply of the inspect script. */
export function toSnapshot(key: string, raw: RawInspection): LockSnapshot {
  const [, mode, used, limit, , queueLength, line, clients] = raw;
  const now = Number(raw[0]);
  const alive = new Map(pairs(clients));
  const listeners = listenersIn(raw);
  const waiters = pairs(line).map(([name, ticket]): LockWaiter => {
    const [client = '', sequence, terms = '', ...label] = name.split(':');
    const share = shareOf(terms);
    return {
      id: `${client}:${sequence}`,
      client,
      who: label.join(':'),
      waitingFor: Math.max(0, now - Number(ticket) / 1_000),
      live: Number(alive.get(client) ?? 0) >= now && listeners.get(client) !== 0,
      ...(share && { share }),
    };
  });
  const { holders, kept } = holds(raw);
  const isShared = mode === 'read' || mode === 'permits';
  return {
    key,
    holder: holders[0],
    holders,
    ...(kept && { kept }),
    ...(isShared && { used: Number(used) }),
    ...(mode === 'permits' && limit !== '' && { limit: Number(limit) }),
    waiters,
    queueLength,
  };
}

/** Whether a look that names at most that many holders and waiters has named all. */
export function namesAll(raw: RawInspection, most: number): boolean {
  return raw[4].length < 2 * most && raw[5] <= most;
}

/** How many listen to the client, by client. */
function listenersIn(raw: RawInspection): ReadonlyMap<string | undefined, number> {
  return new Map(pairs(raw[8]).map(([channel, count]) => [channel.split(':').at(-1), Number(count)]));
}

/**
 * How scripts name the holds of a lock, kept ones included, with the number of each grant.
 *
 * @param asked only the hold with this token, or the shared hold with this id
 * @throws LockHolderChangedError if it does not hold the lock
 */
export function namesOfHolds(
  key: string,
  raw: RawInspection,
  asked: number | string | undefined,
): readonly Pick<Held, 'name' | 'number'>[] {
  const all = present(raw);
  if (asked === undefined) return all;
  const named = all.filter(({ token, id }) => asked === token || asked === id);
  const { holders, kept } = holds(raw);
  if (named.length === 0) throw new LockHolderChangedError(key, asked, holders[0]?.token ?? kept?.token);
  return named;
}

/**
 * For how many ms more Redis may not know whether the hold that it shows is the one with `token`, or that of a neighbour in its row (rule 9);
 * 0: it knows. A process that is blocked for longer tells it later.
 */
export function unannouncedFor(raw: RawInspection, token: number): number {
  const [hold] = present(raw);
  if (hold?.token === undefined || token < hold.token || token >= hold.token + ROW_LENGTH) return 0;
  return Math.max(0, ANNOUNCED_WITHIN - (hold.heldFor ?? 0));
}

function holds(raw: RawInspection): { holders: LockHolder[]; kept: KeptLock | undefined } {
  const all = present(raw);
  const listeners = listenersIn(raw);
  const holders = all
    .filter(({ name }) => !name.startsWith('-'))
    .map(({ name: _, number: __, ...holder }) => {
      const count = listeners.get(holder.client);
      return count === undefined ? holder : { ...holder, live: count > 0 };
    });
  const [last] = all.sort((one, other) => other.leaseLeft - one.leaseLeft);
  const kept =
    holders.length === 0 && last ? { who: last.who, token: last.token, left: last.leaseLeft } : undefined;
  return { holders, kept };
}

/** The holds that have not ended, the longest first. */
function present(raw: RawInspection): Held[] {
  const now = Number(raw[0]);
  return pairs(raw[4])
    .flatMap(([field, value]): Held[] => {
      const [, ends, number, terms = '', who = ''] = /^(\d+) (\d+) ([^:]*):(.*)$/s.exec(value) ?? [];
      const leaseLeft = Number(ends ?? 0) - now;
      if (leaseLeft <= 0) return [];
      const share = shareOf(terms);
      const name = field.slice('h:'.length);
      const [client = ''] = name.replace('-', '').split(':');
      const token = share ? undefined : Number(number);
      const heldFor = Math.max(0, now - Number(number) / 1_000);
      return [
        {
          name,
          number: Number(number),
          client,
          who,
          token,
          heldFor,
          leaseLeft,
          ...(share && { share, id: name }),
        },
      ];
    })
    .sort((one, other) => one.number - other.number);
}

function pairs(list: readonly (string | number)[]): [string, string][] {
  const found: [string, string][] = [];
  for (let i = 0; i < list.length; i += 2) found.push([String(list[i]), String(list[i + 1])]);
  return found;
}
