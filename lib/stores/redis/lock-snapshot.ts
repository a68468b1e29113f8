import type { LockSnapshot, LockWaiter } from '../../core/lock-store.js';

/** How many waiters `inspect` names; the rest is only counted. */
export const MOST_WAITERS_SHOWN = 1_000;

/** Reads the answer of the inspect script. */
export function toSnapshot(key: string, reply: unknown): LockSnapshot {
  const [time, holder, label, token, heldFor, leaseLeft, queueLength, entries] = reply as [
    number,
    string,
    string,
    number,
    number,
    number,
    number,
    string[],
  ];
  const waiters: LockWaiter[] = [];
  for (let i = 0; i < entries.length; i += 4) {
    const [, ticket, deadline, record] = entries.slice(i, i + 4);
    // A record is: generation, server, since, doubted since (0: not), host/pid.
    const [, , , doubt, ...where] = (record ?? '').split(' ');
    waiters.push({
      who: where.join(' '),
      waitingFor: Math.max(0, time - Number(ticket) / 1_000),
      live: Number(deadline) >= time && (doubt ?? '0') === '0',
    });
  }
  return {
    key,
    holder: holder === '' ? undefined : { who: label, token, heldFor, leaseLeft },
    waiters,
    queueLength,
  };
}
