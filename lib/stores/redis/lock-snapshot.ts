import type { LockSnapshot, LockWaiter } from '../../core/lock-store.js';

/** How many waiters `inspect` names; the rest is only counted. */
export const MOST_WAITERS_SHOWN = 1_000;

/** Reads the answer of the inspect script. */
export function toSnapshot(key: string, reply: unknown): LockSnapshot {
  const [time, holder, label, token, heldFor, leaseLeft, queueLength, entries, record] = reply as [
    number,
    string,
    string,
    number,
    number,
    number,
    number,
    string[],
    string,
    number,
  ];
  const waiters: LockWaiter[] = [];
  for (let i = 0; i < entries.length; i += 4) {
    const [id = '', ticket, deadline, waiter] = entries.slice(i, i + 4);
    const { doubted, where } = parseRecord(waiter ?? '');
    waiters.push({
      id,
      client: clientOf(id),
      who: where,
      waitingFor: Math.max(0, time - Number(ticket) / 1_000),
      live: Number(deadline) >= time && !doubted,
    });
  }
  return {
    key,
    // A grant that was passed on has no label before its first renewal.
    holder:
      holder === ''
        ? undefined
        : { client: holder, who: label || parseRecord(record).where, token, heldFor, leaseLeft },
    waiters,
    queueLength,
  };
}

/** The first token of the present grant, by which it is ended; undefined where nothing holds the lock. */
export function presentGrantOf(reply: unknown): number | undefined {
  return (reply as number[])[9] || undefined;
}

/** A member of a line is `client:number`. */
function clientOf(member: string): string {
  return member.slice(0, member.lastIndexOf(':'));
}

/** A client's record: server, doubted since (0: not), subscribed since, generation, host/pid, window. */
function parseRecord(record: string): { doubted: boolean; where: string } {
  const [, doubt = '0', , , where = ''] = record.split(' ');
  return { doubted: doubt !== '0', where };
}
