import { LockHolderChangedError, LockProtocolError } from '../../core/errors.js';
import type { LockSnapshot, LockWaiter } from '../../core/lock-store.js';
import type { StoreClient } from '../redis-client/store-client.js';
import type { LineKeys, LockCommands } from './commands/lock-commands.js';
import type { RawReply } from './commands/reply.js';

/** How many waiters `inspect` names; the rest is only counted. */
const MOST_WAITERS_SHOWN = 1_000;

type Details = readonly [
  holder: string,
  label: string,
  token: number,
  heldFor: number,
  leaseLeft: number,
  first: number,
  queueLength: number,
  /** Four a waiter: member, ticket in µs, liveness deadline in ms, record of its client. */
  entries: readonly (string | number)[],
];

/** What an operator sees of a lock, and ends by force. */
export class LockInspection {
  constructor(
    private readonly client: StoreClient,
    private readonly commands: LockCommands,
    private readonly keysOf: (key: string) => LineKeys,
  ) {}

  async inspect(key: string): Promise<LockSnapshot> {
    return toSnapshot(key, await this.look(key, MOST_WAITERS_SHOWN));
  }

  /**
   * Ends the present grant; false: nothing holds the lock.
   *
   * @throws LockHolderChangedError if the holder has another token than `token`
   */
  async endByForce(key: string, token?: number): Promise<boolean> {
    const first = await this.presentGrant(key, token);
    if (first === undefined) return false;
    // The grant is named, so that a repeated command does not end the next one too.
    const named = first === 'unreadable' ? undefined : first;
    const reply = await this.client.answer(() => this.commands.forceRelease(this.keysOf(key), named));
    return reply.status === 'forced';
  }

  /** The first token of the present grant, by which scripts name it. Undefined: nothing holds the lock. */
  private async presentGrant(
    key: string,
    expected: number | undefined,
  ): Promise<number | 'unreadable' | undefined> {
    try {
      const reply = await this.look(key, 0);
      const { holder } = toSnapshot(key, reply);
      if (expected !== undefined && holder?.token !== expected) {
        throw new LockHolderChangedError(key, expected, holder?.token);
      }
      return (reply.details as unknown as Details)[5] || undefined;
    } catch (error) {
      if (error instanceof LockProtocolError && expected === undefined) return 'unreadable';
      throw error;
    }
  }

  private look(key: string, waiters: number): Promise<RawReply> {
    return this.client.answer(() => this.commands.inspect(this.keysOf(key), waiters));
  }
}

/** Reads the reply of the inspect script. */
function toSnapshot(key: string, { serverTime, details }: RawReply): LockSnapshot {
  const [client, who, token, heldFor, leaseLeft, , queueLength, entries] = details as unknown as Details;
  const waiters: LockWaiter[] = [];
  for (let i = 0; i < entries.length; i += 4) {
    const [member, ticket, deadline, record] = entries.slice(i, i + 4);
    const { suspect, where } = parseRecord(String(record));
    const id = String(member);
    waiters.push({
      id,
      client: clientOf(id),
      who: where,
      waitingFor: Math.max(0, Math.floor(serverTime) - Number(ticket) / 1_000),
      live: Number(deadline) >= Math.floor(serverTime) && !suspect,
    });
  }
  return {
    key,
    holder: client === '' ? undefined : { client, who, token, heldFor, leaseLeft },
    waiters,
    queueLength,
  };
}

/** A member of a line is `client:sequence`, or `client:sequence:lease` for a fixed lease. */
function clientOf(member: string): string {
  return member.split(':', 1)[0] ?? '';
}

/** A client's record is pairs of `name=value` with spaces between them (docs/protocol.md). */
function parseRecord(record: string): { suspect: boolean; where: string } {
  const values = new Map(record.split(' ').map((pair) => pair.split(/=(.*)/s, 2) as [string, string]));
  return { suspect: (values.get('suspect') ?? '0') !== '0', where: values.get('where') ?? '' };
}
