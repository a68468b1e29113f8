import type { SimClient } from '../scenario/sim-client.js';
import type { SimServer } from '../world/sim-server.js';
import type { World } from '../world/world.js';
import type { Excuses } from './excuses.js';
import type { Findings } from './findings.js';
import { nameOf, type RequestRecord } from './history.js';
import { announcedGrant, remembersToken, type PresentGrant } from './present-grant.js';

/** What was given and told of the tokens of one lock. */
interface LockTokens {
  /** The highest that the server gave since it last lost its data, and when. */
  given: { readonly highest: number; readonly at: number };
  /** The grant that came back with old data: it is not a new one. */
  restored: string | undefined;
  /** The last new grant of the server. */
  newest: string;
  /** The highest of a caller, among those that the server gave since it last lost its data. */
  highest: number;
  /** What each client knows: the grant that it was told of last, and the highest token that one of its callers had. */
  readonly knownTo: Map<SimClient, { received: number; highest: number }>;
}

/**
 * Fencing tokens rise: from grant to grant on the server, from caller to caller, and for each client.
 *
 * On the server they may fall where it forgot the last token, with its data or because the lock was at rest, and its clock is behind that
 * token (docs/reliability.md). For a client there is no excuse: for as long as its process lives it remembers the highest token that it was
 * told of, and enters no lower one. What a process knew ends with it.
 */
export class Tokens {
  private readonly locks = new Map<string, LockTokens>();

  constructor(
    private readonly world: World,
    private readonly server: SimServer,
    private readonly excuses: Excuses,
    private readonly findings: Findings,
  ) {}

  /** The server's data are those of an earlier time: `grant` came back with them. */
  dataRestored(lock: string, grant: PresentGrant | undefined): void {
    this.of(lock).restored = grant && nameOfGrant(grant);
  }

  /** The server's clock is about to be set back: a lock that was at rest for long remembers no token (promise 4 of the protocol). */
  clockSetBack(): void {
    for (const [name, lock] of this.locks) {
      if (remembersToken(this.server.redis, name)) continue;
      lock.given = { highest: 0, at: this.world.now };
      lock.highest = 0;
    }
  }

  /** The server honours this grant now. */
  honoured(name: string, grant: PresentGrant): void {
    const { first, last } = grant;
    const lock = this.of(name);
    const newest = nameOfGrant(grant);
    if (newest === lock.newest || newest === lock.restored) return;
    const { highest } = lock.given;
    if (first <= highest) {
      if (!this.mayFall(name, lock)) {
        this.findings.violate('fencing', `the server granted ${name} with ${first} after ${highest}`);
      }
      lock.highest = 0;
    }
    lock.given = { highest: last, at: this.world.now };
    lock.newest = newest;
  }

  /** A message has reached its client. Returns the lock of which it announces a grant, if it does. */
  received(client: SimClient, message: string): string | undefined {
    const grant = announcedGrant(message);
    if (!grant) return undefined;
    const known = this.knownTo(client, grant.lock);
    known.received = Math.max(known.received, grant.first);
    return grant.lock;
  }

  /** A caller was granted the lock. */
  entered(record: RequestRecord): void {
    const { client, token = 0 } = record;
    const lock = this.of(record.lock);
    const known = this.knownTo(client, record.lock);
    if (token <= known.highest || token < known.received) {
      const before = Math.max(known.highest, known.received);
      this.findings.violate(
        'fencing',
        `${nameOf(record)} has token ${token}, its client was told of ${before} before`,
      );
    }
    known.highest = Math.max(known.highest, token);
    if (token <= lock.highest) {
      // The older one may enter late.
      if (this.excuses.mayOverlap(record, this.world.now)) this.findings.tally.excusedOverlaps += 1;
      else this.findings.violate('fencing', `${nameOf(record)} has token ${token}, after ${lock.highest}`);
    }
    // One that is higher than all that the server gave since is of data that are lost.
    if (token <= lock.given.highest) lock.highest = Math.max(lock.highest, token);
  }

  /** The last token was lost with the data, and the clock, from which the server takes the next, is behind it. */
  private mayFall(name: string, { given }: LockTokens): boolean {
    return this.excuses.dataLostSince(name, given.at) && this.server.micros() <= given.highest;
  }

  private knownTo(client: SimClient, name: string): { received: number; highest: number } {
    const { knownTo } = this.of(name);
    let known = knownTo.get(client);
    if (!known) knownTo.set(client, (known = { received: 0, highest: 0 }));
    return known;
  }

  private of(name: string): LockTokens {
    let lock = this.locks.get(name);
    if (!lock) {
      lock = {
        given: { highest: 0, at: 0 },
        restored: undefined,
        newest: '',
        highest: 0,
        knownTo: new Map(),
      };
      this.locks.set(name, lock);
    }
    return lock;
  }
}

/** After a loss of data the same token may be given again, to another client. */
function nameOfGrant({ owner, first }: PresentGrant): string {
  return `${owner} ${first}`;
}
