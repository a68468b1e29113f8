import type { KeptLock, LockHolder, Share } from '../../core/port/lock-store.js';

/** The shared holds of a lock, as the inspect script shows them. */
export interface SharedHolders {
  readonly holders: readonly LockHolder[];
  readonly used: number;
  /** Present if `holdAtLeast` keeps weights of the lock and no client holds any. */
  readonly kept: KeptLock | undefined;
  /** `client:sequence:number` of each, by which a forced release names it. */
  readonly names: readonly string[];
}

interface Entry extends LockHolder {
  readonly number: number;
  readonly isKept: boolean;
}

/**
 * Reads the records of all clients (scripts/includes/shares.lua).
 *
 * @param records two values for each client: its id, and its record
 */
export function sharedHolders(records: readonly string[], serverTime: number): SharedHolders {
  const entries: Entry[] = [];
  for (let i = 0; i < records.length; i += 2)
    entries.push(...entriesOf(records[i]!, records[i + 1]!, serverTime));
  const present = entries.filter(({ leaseLeft }) => leaseLeft > 0).sort((a, b) => a.number - b.number);
  const kept = present.filter(({ isKept }) => isKept).sort((a, b) => b.leaseLeft - a.leaseLeft)[0];
  const holders = present.filter(({ isKept }) => !isKept);
  return {
    holders: holders.map(({ number: _, isKept: __, ...holder }) => holder),
    used: present.reduce((sum, { share }) => sum + (share?.mode === 'permits' ? share.weight : 1), 0),
    kept:
      holders.length === 0 && kept ? { who: kept.who, token: undefined, left: kept.leaseLeft } : undefined,
    names: present.map(({ id, number }) => `${id}:${number}`),
  };
}

function entriesOf(client: string, record: string, serverTime: number): Entry[] {
  const [, end, list = '', who = ''] = /^end=(\d+) requests=(\S+) label=(.*)$/s.exec(record) ?? [];
  const read = list
    .slice(1)
    .split(',')
    .map((entry) => entry.split(':'));
  return read.map(([sequence, weight, limit, number, own = '']) => ({
    id: `${client}:${sequence}`,
    client,
    who,
    token: undefined,
    heldFor: Math.max(0, serverTime - Number(number) / 1_000),
    leaseLeft: Number(own.replace('k', '') || end) - Math.floor(serverTime),
    share: shareOf(weight, limit),
    number: Number(number),
    isKept: own.startsWith('k'),
  }));
}

function shareOf(weight: string | undefined, limit: string | undefined): Share {
  if (!limit) return { mode: 'read' };
  return { mode: 'permits', permits: Number(limit), weight: Number(weight) };
}

/** How a request in line is to hold the lock, from its mark (scripts/includes/kinds.lua); undefined: alone. */
export function shareOfMark(mark: string): Share | undefined {
  const [, read, weight, limit] = /^(?:(r)|p(\d+)\/(\d+))(?:,\d+)?$/.exec(mark) ?? [];
  return (read ?? limit) ? shareOf(weight, limit) : undefined;
}
