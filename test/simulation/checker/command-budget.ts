import type { Plan } from '../scenario/plan.js';
import type { SimClient } from '../scenario/sim-client.js';
import type { World } from '../world/world.js';
import type { Findings } from './findings.js';

/** What a client sent for one lock, and what happened to it there. */
interface Account {
  reasons: number;
  answered: number;
  unanswered: number;
  readonly since: number;
}

/** Times (ms) that are shorter are over before a command has reached the server and its reply is back: all it can do is ask again. */
const SHORTEST_TIME = 20;
/** A command that is not answered is repeated no more often than this, ms. */
const LEAST_PAUSE = 10;

/**
 * Each command has a reason: a client sends no more of them for a lock than what happened to it there calls for. Only a part of what it
 * knows is seen here, so a few more are no fault; a loop that asks once a round trip is beyond any such margin immediately.
 */
export class CommandBudget {
  private readonly accounts = new Map<SimClient, Map<string, Account>>();

  constructor(
    private readonly world: World,
    private readonly plan: Plan,
    private readonly findings: Findings,
  ) {}

  /** Something happened to the client that it may send so many commands for. */
  reason(client: SimClient, lock: string, commands: number): void {
    this.of(client, lock).reasons += commands;
  }

  connectionChanged(client: SimClient): void {
    for (const account of this.accounts.get(client)?.values() ?? []) account.reasons += 4;
  }

  /** A script is sent, with its keys and arguments. Returns what to call when it is answered. */
  sent(client: SimClient, [, count, ...keys]: readonly string[]): (() => void) | undefined {
    if (Number(count) < 3) return undefined;
    const locks = keys.slice(0, Number(count)).filter((_, i) => i % 3 === 0);
    const accounts = locks.map((lock) => ({ lock, account: this.of(client, lock) }));
    for (const { lock, account } of accounts) {
      account.unanswered += 1;
      // Each request that has given up repeats its done twice a second, and had two reasons to send commands.
      const perSecond = Math.max(1_000 / LEAST_PAUSE, account.reasons);
      const most = 50 + 10 * account.reasons + (perSecond * (this.world.now - account.since)) / 1_000;
      if (account.unanswered > most)
        this.violate(client, lock, `${account.unanswered} commands without an answer`, most, account);
    }
    const sentAt = this.world.now;
    return () => {
      const { lease, window, commandTimeout } = client.planned.times ?? this.plan;
      // The client has given it up by then, and has sent it again. Clocks drift.
      if (this.world.now - sentAt > commandTimeout * 0.999 - 1) return;
      for (const { lock, account } of accounts) {
        account.unanswered -= 1;
        account.answered += 1;
        const beats = (this.world.now - account.since) / (Math.min(lease, window) / 3);
        const most = 20 + 2 * (account.reasons + beats);
        if (account.answered > most)
          this.violate(client, lock, `${account.answered} commands`, most, account);
      }
    };
  }

  private violate(client: SimClient, lock: string, what: string, most: number, account: Account): void {
    const { lease, window, commandTimeout } = client.planned.times ?? this.plan;
    if (Math.min(lease, window, commandTimeout) < SHORTEST_TIME) return;
    account.reasons = Infinity;
    this.findings.violate(
      'commands',
      `${client.process.name} sent ${what} of ${lock}, ${Math.floor(most)} at most are called for`,
    );
  }

  private of(client: SimClient, lock: string): Account {
    let locks = this.accounts.get(client);
    if (!locks) this.accounts.set(client, (locks = new Map<string, Account>()));
    let account = locks.get(lock);
    if (!account)
      locks.set(lock, (account = { reasons: 4, answered: 0, unanswered: 0, since: this.world.now }));
    return account;
  }
}
