/** A source of locks that a test fills by hand: as many as it wants, in any state. */
import {
  type LockOverview,
  type LockReport,
  type ProcessReport,
  type WaiterReport,
  type WaitReport,
} from '../../lib/core/query/lock-overview.js';
import { type ForceReleaseOptions, LockHolderChangedError } from 'nestjs-fair-lock';
import { type LockSnapshot } from '../../lib/core/port/lock-store.js';
import { type LockSource } from '../../lib/board/board-feed.js';

export class FakeLocks implements LockSource {
  overview: LockOverview = { locks: [], processes: [], silent: [], problems: [] };
  /** Thrown by every question while it is set. */
  failure: Error | undefined;
  /** How many queries there were. */
  queries = 0;
  readonly forced: { key: string; token?: number; holder?: string }[] = [];
  private readonly snapshots = new Map<string, LockSnapshot>();

  async query(): Promise<LockOverview> {
    this.queries += 1;
    if (this.failure) throw this.failure;
    return this.overview;
  }

  async inspect(key: string): Promise<LockSnapshot> {
    if (this.failure) throw this.failure;
    return this.snapshots.get(key) ?? this.snapshotOf(key);
  }

  async forceRelease(key: string, { token, holder: id }: ForceReleaseOptions = {}): Promise<boolean> {
    if (id !== undefined) {
      if (!this.snapshots.get(key)?.holders.some((each) => each.id === id))
        throw new LockHolderChangedError(key, id, undefined);
      this.forced.push({ key, holder: id });
      return true;
    }
    const holder = this.overview.locks.find((lock) => lock.key === key)?.holder;
    if (token === undefined || holder?.token !== token)
      throw new LockHolderChangedError(key, token ?? 0, holder?.token);
    this.forced.push({ key, token });
    return true;
  }

  /** What Redis has of `key`, where that is more than what the processes report. */
  redisHas(snapshot: LockSnapshot): void {
    this.snapshots.set(snapshot.key, snapshot);
  }

  private snapshotOf(key: string): LockSnapshot {
    const { holder, waiters = [] } = this.overview.locks.find((lock) => lock.key === key) ?? {};
    const only = holder && {
      who: `${holder.host}/${holder.pid}/${holder.label}`,
      token: holder.token,
      heldFor: holder.heldFor,
      leaseLeft: 20_000,
    };
    return {
      key,
      holder: only,
      holders: only ? [only] : [],
      waiters: waiters.map(({ id = '', host, pid, label, waitingFor }) => ({
        id,
        who: `${host}/${pid}/${label}`,
        waitingFor,
        live: true,
      })),
      queueLength: waiters.length,
    };
  }
}

const process = (index: number) => ({
  clientId: `client-${index}`,
  host: `web-${index}`,
  pid: 4_000 + index,
});

function heldBy(key: string, by: number, label: string, heldFor: number, token: number) {
  const holder = { ...process(by), label, heldFor, token, state: 'held' as const, live: true };
  return { key, holder, holders: [holder], orphan: false };
}

/** `locks` locks of twenty processes, with `waiters` calls in all that wait for them; the first has the longest wait. */
export function manyLocks(locks: number, waiters: number): LockOverview {
  const each = Math.ceil(waiters / locks);
  const reports = Array.from({ length: locks }, (_, index): LockReport => ({
    ...heldBy(`order:${index}`, index % 20, 'OrdersService.pay', 1_500 + index, index + 1),
    waiters: Array.from({ length: each }, (_, place) => ({
      ...process((index + place) % 20),
      label: 'OrdersService.pay',
      waitingFor: (locks - index) * 10 + (each - place),
      ahead: place,
      inside: [],
      live: true,
    })),
    queueLength: each,
  }));
  return {
    locks: reports,
    processes: Array.from({ length: 20 }, (_, index) => processOf(index, reports)),
    silent: [],
    problems: [],
  };
}

/** A lock for which `waiters` calls wait; Redis shows the first thousand. */
export function longLine(key: string, waiters: number): LockSnapshot {
  return {
    key,
    holder: undefined,
    holders: [],
    waiters: Array.from({ length: Math.min(waiters, 1_000) }, (_, place) => ({
      id: String(place),
      who: `web-${place % 20}/${4_000 + (place % 20)}/OrdersService.pay`,
      waitingFor: (waiters - place) * 8,
      live: true,
    })),
    queueLength: waiters,
  };
}

function processOf(index: number, locks: readonly LockReport[]): ProcessReport {
  const identity = process(index);
  const mine = ({ clientId }: { clientId: string }) => clientId === identity.clientId;
  return {
    ...identity,
    version: '0.1.0',
    eventLoopDelay: 1,
    holds: locks.flatMap(({ key, holder }) => (holder && mine(holder) ? { ...holder, key } : [])),
    waits: locks.flatMap(({ key, waiters }) =>
      waiters.filter(mine).map((waiter): WaitReport => ({ ...waiter, key })),
    ),
    truncated: false,
  };
}

/** A calm evening in a shop: a few queues, and a process that does not answer. */
export function shopLocks(): LockOverview {
  const wait = (by: number, label: string, waitingFor: number, inside: string[] = []): WaiterReport => ({
    ...process(by),
    id: `${by}-${waitingFor}`,
    label,
    waitingFor,
    ahead: 0,
    inside,
    live: true,
  });
  const shop: Omit<LockReport, 'queueLength'>[] = [
    {
      ...heldBy('order:4711', 1, 'OrdersService.pay', 12_300, 91),
      waiters: [3, 2, 1, 4, 3, 2, 5, 4].map((by, place) =>
        wait(by, 'OrdersService.pay', 11_800 - place * 1_240),
      ),
    },
    {
      ...heldBy('account:7', 2, 'AccountsService.transfer', 6_100, 17),
      waiters: [wait(3, 'AccountsService.transfer', 5_900, ['account:9'])],
    },
    {
      ...heldBy('account:9', 3, 'AccountsService.transfer', 6_000, 12),
      waiters: [
        wait(2, 'AccountsService.transfer', 5_700, ['account:7']),
        wait(5, 'AccountsService.close', 2_100, ['stock:lamp']),
      ],
    },
    {
      ...heldBy('stock:lamp', 5, 'StockService.take', 2_400, 402),
      waiters: [wait(1, 'StockService.take', 840, ['order:4711'])],
    },
    { ...heldBy('report:monthly', 4, 'ReportsJob.run', 184_000, 3), waiters: [] },
  ];
  const locks = shop.map((lock) => ({ ...lock, queueLength: lock.waiters.length }));
  return {
    locks,
    processes: [1, 2, 3, 4, 5].map((index) => processOf(index, locks)),
    silent: [{ clientId: 'client-6', host: 'web-6', pid: 4_006 }],
    problems: [],
  };
}
