import { LockHolderChangedError } from '../../core/errors/errors.js';
import { MOST_SHOWN, type LockSnapshot, type LockWaiter } from '../../core/port/lock-store.js';
import type { RawReply } from './commands/reply.js';
import { shareOfMark, sharedHolders } from './shared-holders.js';

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
  /** Of a lock that is shared: the limit of its permits, '' if none, and two values for each client that holds it. */
  shared?: readonly string[],
];

/**
 * How scripts name the present grants: the first token of an exclusive one, `client:sequence:number` of each shared hold; undefined: nothing
 * holds the lock.
 *
 * @param asked only the grant with this token, or the shared hold with this id
 * @throws LockHolderChangedError if it does not hold the lock
 */
export function namesOfGrants(
  key: string,
  reply: RawReply,
  asked: number | string | undefined,
): number | readonly string[] | undefined {
  const { serverTime = 0, details } = reply;
  const [, , , , , first, , , shared] = details as unknown as Details;
  const { holder, kept } = toSnapshot(key, reply);
  const token = (holder ?? kept)?.token;
  if (shared) {
    const { names } = sharedHolders(shared.slice(1), serverTime);
    const named = asked === undefined ? names : names.filter((name) => name.startsWith(`${asked}:`));
    if (asked !== undefined && named.length === 0) throw new LockHolderChangedError(key, asked, token);
    return named;
  }
  if (asked !== undefined && asked !== token) throw new LockHolderChangedError(key, asked, token);
  return first || undefined;
}

/** Reads the reply of the inspect script. */
export function toSnapshot(key: string, { serverTime = 0, details }: RawReply): LockSnapshot {
  const [holder, who, token, heldFor, leaseLeft, , queueLength, entries, shared] =
    details as unknown as Details;
  const waiters: LockWaiter[] = [];
  for (let i = 0; i < entries.length; i += 4) {
    const [member, ticket, deadline, record] = entries.slice(i, i + 4);
    // A member is `client:sequence`; a mark follows for a request that is not a usual one.
    const [client = '', sequence = '', mark = ''] = String(member).split(':');
    const share = shareOfMark(mark);
    const { suspect, where } = parseRecord(String(record));
    waiters.push({
      id: `${client}:${sequence}`,
      client,
      who: where,
      waitingFor: Math.max(0, Math.floor(serverTime) - Number(ticket) / 1_000),
      live: Number(deadline) >= Math.floor(serverTime) && !suspect,
      ...(share && { share }),
    });
  }
  if (shared) return { key, ...sharedPart(shared, serverTime), waiters, queueLength };
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

function sharedPart(
  [limit, ...records]: readonly string[],
  serverTime: number,
): Pick<LockSnapshot, 'holder' | 'holders' | 'used' | 'limit' | 'kept'> {
  const { holders, used, kept } = sharedHolders(records, serverTime);
  const isPermits = !holders.some(({ share }) => share?.mode === 'read');
  return {
    holder: holders[0],
    holders: holders.slice(0, MOST_SHOWN),
    used,
    ...(isPermits && limit && { limit: Number(limit) }),
    ...(kept && { kept }),
  };
}

/** A client's record is pairs of `name=value` with spaces between them (docs/protocol.md). */
function parseRecord(record: string): { suspect: boolean; where: string } {
  const values = new Map(record.split(' ').map((pair) => pair.split(/=(.*)/s, 2) as [string, string]));
  return { suspect: (values.get('suspect') ?? '0') !== '0', where: values.get('where') ?? '' };
}
