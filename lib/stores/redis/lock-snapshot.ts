import type { LockSnapshot, LockWaiter } from '../../core/port/lock-store.js';
import type { RawReply } from './commands/reply.js';

/** The holder of a lock that is kept, in place of a client (scripts/includes/grant.lua). */
const KEPT = 'kept';

type Details = readonly [
  holder: string,
  label: string,
  token: number,
  heldFor: number,
  leaseLeft: number,
  first: number,
  queueLength: number,
  /** Four entries per waiter: member, ticket in µs, liveness deadline in ms, record of its client. */
  entries: readonly (string | number)[],
];

/** The first token of the present grant, by which scripts name it; undefined: nothing holds the lock. */
export function firstToken({ details }: RawReply): number | undefined {
  return (details as unknown as Details)[5] || undefined;
}

/** Reads the reply of the inspect script. */
export function toSnapshot(key: string, { serverTime = 0, details }: RawReply): LockSnapshot {
  const [holder, who, token, heldFor, leaseLeft, , queueLength, entries] = details as unknown as Details;
  const waiters: LockWaiter[] = [];
  for (let i = 0; i < entries.length; i += 4) {
    const [member, ticket, deadline, record] = entries.slice(i, i + 4);
    // A member is `client:sequence`; more follows for a fixed lease, and for a request that joins no batch.
    const [client = '', sequence = ''] = String(member).split(':');
    const { suspect, where } = parseRecord(String(record));
    waiters.push({
      id: `${client}:${sequence}`,
      client,
      who: where,
      waitingFor: Math.max(0, Math.floor(serverTime) - Number(ticket) / 1_000),
      live: Number(deadline) >= Math.floor(serverTime) && !suspect,
    });
  }
  const only =
    holder === '' || holder === KEPT ? undefined : { client: holder, who, token, heldFor, leaseLeft };
  return {
    key,
    holder: only,
    holders: only ? [only] : [],
    ...(holder === KEPT && { kept: { who, token, left: leaseLeft } }),
    waiters,
    queueLength,
  };
}

/** A client's record is pairs of `name=value` with spaces between them (docs/protocol.md). */
function parseRecord(record: string): { suspect: boolean; where: string } {
  const values = new Map(record.split(' ').map((pair) => pair.split(/=(.*)/s, 2) as [string, string]));
  return { suspect: (values.get('suspect') ?? '0') !== '0', where: values.get('where') ?? '' };
}
