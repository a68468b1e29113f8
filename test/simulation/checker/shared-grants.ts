import type { SimClient } from '../scenario/sim-client.js';
import type { Plan } from '../scenario/plan.js';
import type { MiniRedis } from '../mini-redis/mini-redis.js';
import type { World } from '../world/world.js';
import type { CommandBudget } from './command-budget.js';
import type { Excuses } from './excuses.js';
import type { Findings } from './findings.js';
import type { GrantOrder } from './grant-order.js';
import { nameOf, type LockState } from './history.js';
import { live, nameOfHolding, nameOfPlace, sequencesOf, type Holding, type LockData } from './lock-data.js';
import type { LockStates } from './lock-states.js';
import { silenceLeft } from './present-grant.js';
import type { ServerData } from './server-data.js';
import { overAdmission } from './together.js';
import type { Tokens } from './tokens.js';

/** What the server makes of a lock that requests of several kinds use: whom it lets in beside whom, in which order, and what it counts. */
export class SharedGrants {
  constructor(
    private readonly world: World,
    private readonly redis: MiniRedis,
    private readonly plan: Plan,
    private readonly clients: readonly SimClient[],
    private readonly excuses: Excuses,
    private readonly findings: Findings,
    private readonly locks: LockStates,
    private readonly data: ServerData,
    private readonly order: GrantOrder,
    private readonly tokens: Tokens,
    private readonly commands: CommandBudget,
  ) {}

  check(lock: LockState, before: LockData, after: LockData): void {
    this.checkWeights(lock, after);
    const known = new Set(before.holdings.map(nameOfHolding));
    const admitted = after.holdings.filter((holding) => !holding.kept && !known.has(nameOfHolding(holding)));
    this.checkRule(lock, before, after, admitted);
    if (admitted.length > 0) this.admitted(lock, after, admitted);
    this.checkBelieved(lock, after);
    if (live(after).length > 0) lock.lastUse = this.world.now;
  }

  /** A request of which its client has said that it is over holds nothing any more. */
  checkOver({ name }: LockState, [owner, requests = '']: readonly string[], { holdings }: LockData): void {
    const sequences = sequencesOf(requests);
    const over = new Set(sequences.map((sequence) => `${owner}:${sequence}`));
    if (holdings.some((holding) => !holding.kept && over.has(nameOfPlace(holding))))
      this.findings.violate('weight', `${name} is held by ${sequences.join()} of ${owner}, which are over`);
  }

  /** The sum that the hash has is that of the records, each of which is taken out when it is over. */
  private checkWeights({ name }: LockState, { holdings, shared }: LockData): void {
    const shares = holdings.filter(({ share }) => share !== undefined);
    const sum = shares.reduce(
      (total, { share }) => total + (share?.mode === 'permits' ? share.weight : 1),
      0,
    );
    if (sum !== (shared?.used ?? 0))
      this.findings.violate('weight', `${name} has ${sum} in its records, ${shared?.used ?? 0} in its sum`);
    if (!shared) return;
    const ends = shares.map(({ end }) => end);
    if (shared.firstEnd > Math.min(...ends) || shared.lastEnd < Math.max(...ends))
      this.findings.violate('weight', `${name} does not look when its holds end`);
  }

  /** A request is let in beside others only by the rule (docs/protocol.md). */
  private checkRule(lock: LockState, before: LockData, after: LockData, admitted: readonly Holding[]): void {
    const inLine = new Set(before.queue.map(nameOfPlace));
    const joined = [...after.queue, ...admitted].filter((place) => !inLine.has(nameOfPlace(place)));
    const named = (places: readonly { readonly share: Holding['share'] }[]): number[] =>
      places.flatMap(({ share }) => (share?.mode === 'permits' ? [share.permits] : []));
    // Those that were in line come in by their places; one that joined it now, last, unless it has come back to an older place.
    const places = [...before.queue, ...joined].map(nameOfPlace);
    const inOrder = [...admitted].sort(
      (one, other) => places.indexOf(nameOfPlace(one)) - places.indexOf(nameOfPlace(other)),
    );
    const others = live(after).filter((holding) => !admitted.includes(holding));
    const largest = Math.max(before.limit ?? Infinity, ...named(joined));
    const fault = admitted.length > 0 && overAdmission(others, inOrder, largest);
    if (fault) this.findings.violate('rule', `${lock.name} has ${fault}`);
    const [joiner] = named(joined);
    if (joined.length === 1 && admitted.length === 0 && joiner !== undefined && after.limit !== joiner)
      this.findings.violate('rule', `${lock.name} has limit ${after.limit}, ${joiner} joined its line last`);
  }

  private admitted(lock: LockState, after: LockData, admitted: readonly Holding[]): void {
    const [{ number: first }] = admitted as [Holding];
    const numbers = admitted.map(({ number }) => number);
    const owner = admitted.map(nameOfHolding).join();
    this.tokens.honoured(lock.name, { owner, first, last: Math.max(...numbers), left: 0 });
    const markedAlive = this.markedAlive(lock);
    for (const holding of admitted) {
      const client = this.data.clientOf(holding.owner);
      this.commands.serverGranted(client, lock.name);
      const record = this.data.recordOf(holding);
      if (!record || !client) continue;
      record.passedAt = this.world.now;
      record.number = holding.number;
      record.unsubscribedBefore = client.lastUnsubscribed;
      record.markedAlive = markedAlive;
      const isAlone = holding.share === undefined;
      // Of a run, the others have their turns one after the other, and may be overtaken by none.
      if (lock.waiting.has(record) && (!isAlone || holding.number === first))
        this.order.checkOrder(lock, record, (other) => this.data.holdingOf(other, after) !== undefined);
    }
  }

  private markedAlive({ name }: LockState): Map<SimClient, number> {
    const found = new Map<SimClient, number>();
    for (const [id, left] of silenceLeft(this.redis, name)) {
      const client = this.data.clientOf(id);
      if (client) found.set(client, this.world.now + left - (client.planned.times ?? this.plan).window);
    }
    return found;
  }

  /** No holder may believe in a hold that the server has ended. */
  private checkBelieved(lock: LockState, after: LockData): void {
    const { now } = this.world;
    for (const record of lock.holds) {
      if ((record.lease?.remaining() ?? 0) <= 0 || this.data.holdingOf(record, after)) continue;
      if (this.excuses.mayBeUnknown(record, now)) continue;
      this.findings.violate(
        'self-fence',
        `${nameOf(record)} believes to hold ${lock.name}, the server does not`,
      );
      this.locks.endHold(record, now);
    }
  }
}
