import type { MiniRedis } from '../mini-redis/mini-redis.js';
import type { Plan } from '../scenario/plan.js';
import type { SimClient } from '../scenario/sim-client.js';
import type { SimServer } from '../world/sim-server.js';
import type { World } from '../world/world.js';
import type { Excuses } from './excuses.js';
import type { Findings } from './findings.js';
import { nameOf, type LockState } from './history.js';
import type { LockStates } from './lock-states.js';
import type { CommandBudget } from './command-budget.js';
import type { Tokens } from './tokens.js';
import { generationOf, KEPT, presentGrant, recordedClients, silenceLeft } from './present-grant.js';

/** What the server has of each lock, beside what callers believe: its grants, its records. */
export class ServerGrants {
  /** The last grant of each lock that a primary made which was cut off. */
  private readonly elsewhere = new Map<string, number>();

  constructor(
    private readonly world: World,
    private readonly server: SimServer,
    private readonly plan: Plan,
    private readonly clients: readonly SimClient[],
    private readonly excuses: Excuses,
    private readonly findings: Findings,
    private readonly locks: LockStates,
    private readonly tokens: Tokens,
    private readonly commands: CommandBudget,
  ) {}

  /** The server's data are those of an earlier time: what is granted in them is no new grant. */
  dataRestored(): void {
    for (const lock of this.locks.all()) {
      const grant = presentGrant(this.server.redis, lock.name);
      this.tokens.dataRestored(lock.name, grant === 'free' ? undefined : grant);
    }
  }

  /** No holder may believe in a grant that the server has given up. */
  checkGrant(lock: LockState): void {
    const { now } = this.world;
    const grant = presentGrant(this.server.redis, lock.name);
    if (grant === undefined) return;
    lock.heldByDeadUntil = 0;
    if (grant !== 'free') {
      lock.lastUse = now;
      if (!this.clientOf(grant.owner)?.process.alive) lock.heldByDeadUntil = now + grant.left + 1;
      // Nobody holds what is kept, under the token of the hold before.
      if (grant.owner !== KEPT) this.tokens.honoured(lock.name, grant);
      if (grant.first !== lock.serverGrant.firstToken) {
        const unsubscribed = new Map(this.clients.map((client) => [client, client.lastUnsubscribed]));
        const markedAlive = this.markedAlive(lock);
        const owner = this.clientOf(grant.owner);
        this.commands.serverGranted(owner, lock.name);
        lock.serverGrant = {
          firstToken: grant.first,
          lastToken: grant.last,
          at: now,
          unsubscribed,
          markedAlive,
          owner,
          before: lock.serverGrant.owner,
        };
      }
    }
    for (const record of lock.holds) {
      const { lease, token = 0 } = record;
      if (!lease || lease.remaining() <= 0) continue;
      const itIsOurs = grant !== 'free' && grant.first <= token && token <= grant.last && grant.left > 0;
      if (!itIsOurs && !this.excuses.mayBeUnknown(record, now)) {
        this.findings.violate(
          'self-fence',
          `${nameOf(record)} believes to hold ${lock.name}, the server does not`,
        );
        this.locks.endHold(record, now);
      }
    }
  }

  private markedAlive({ name }: LockState): Map<SimClient, number> {
    const found = new Map<SimClient, number>();
    for (const [id, left] of silenceLeft(this.server.redis, name)) {
      const client = this.clientOf(id);
      if (client) found.set(client, this.world.now + left - (client.planned.times ?? this.plan).window);
    }
    return found;
  }

  /** The record of a process that is gone goes when one of another is written, also while the lock is in use. */
  checkRecords(lock: LockState): void {
    const { now } = this.world;
    const before = lock.recorded;
    lock.recorded = recordedClients(this.server.redis, lock.name);
    this.noteGenerations(lock, this.server.redis, lock.recorded);
    if (this.plan.smallLimits || lock.recorded.every((id) => before.includes(id))) return;
    const grant = presentGrant(this.server.redis, lock.name);
    for (const id of lock.recorded) {
      // The record of the holder goes with its grant, which the server honours for the whole lease.
      if (grant !== 'free' && grant?.owner === id) continue;
      const { diedAt } = this.clientOf(id)?.process ?? {};
      if (diedAt === undefined) continue;
      // A copy of its leave or release that comes late marks it alive once more: those carry no deadline (R2).
      const silentFor = now - Math.max(diedAt, lock.commandedAt.get(id) ?? 0);
      if (silentFor < this.excuses.longestRecord()) continue;
      this.findings.violate(
        'leak',
        `${lock.name} keeps a record of a client that ended and was silent for ${silentFor.toFixed(0)} ms`,
      );
    }
  }

  /** A primary that was cut off carried out a script: what it tells its clients is a reason to send commands, too. */
  seenElsewhere(redis: MiniRedis, name: string): void {
    const lock = this.locks.find(name);
    if (!lock) return;
    this.noteGenerations(lock, redis, recordedClients(redis, name));
    const grant = presentGrant(redis, name);
    if (grant === undefined || grant === 'free' || grant.first === this.elsewhere.get(name)) return;
    this.elsewhere.set(name, grant.first);
    this.commands.serverGranted(this.clientOf(grant.owner), name);
  }

  private noteGenerations(lock: LockState, redis: MiniRedis, recorded: readonly string[]): void {
    for (const id of recorded) {
      const client = this.clientOf(id);
      if (client) this.commands.generation(client, lock.name, generationOf(redis, lock.name, id));
    }
  }

  private clientOf(id: string): SimClient | undefined {
    return this.clients.find(({ ids }) => ids.has(id));
  }
}
