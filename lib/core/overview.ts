import type { ClientIdentity, LockOverview, LockReport, ProcessReport } from './lock-overview.js';
import type { PeerReports } from './peers.js';

type Assembled = Pick<LockOverview, 'locks' | 'processes' | 'silent' | 'problems'>;

/**
 * Puts the reports of all clients together: each lock with its holder and its line. A wait is as old everywhere as its own
 * process reports, so the order of a line is that of the waiting times; clocks are not compared.
 */
export function assemble({ reports, silent, problems }: PeerReports): Assembled {
  const locks = new Map<string, LockReport>();
  const lockOf = (key: string): LockReport => {
    let lock = locks.get(key);
    if (!lock) locks.set(key, (lock = { key, waiters: [], orphan: false }));
    return lock;
  };
  for (const process of reports) addProcess(process, lockOf);
  for (const lock of locks.values()) sortLine(lock);
  return {
    locks: [...locks.values()].sort(byUrgency),
    processes: [...reports],
    silent: [...silent],
    problems: [...problems],
  };
}

/** Longest wait first, then longest hold. */
export function byUrgency(a: LockReport, b: LockReport): number {
  const wait = (b.waiters[0]?.waitingFor ?? 0) - (a.waiters[0]?.waitingFor ?? 0);
  return wait || (b.holder?.heldFor ?? 0) - (a.holder?.heldFor ?? 0);
}

function addProcess(process: ProcessReport, lockOf: (key: string) => LockReport): void {
  const { clientId, host, pid } = process;
  const client: ClientIdentity = { clientId, host, pid };
  for (const { key, ...hold } of process.holds) {
    const lock = lockOf(key);
    // The reports are of different moments: a hold that was handed on meanwhile is reported by both.
    const later = !lock.holder || hold.token > lock.holder.token;
    if (hold.state !== 'lost' && later) lock.holder = { ...client, ...hold };
    else if (!lock.holder) lock.holder = { ...client, ...hold };
  }
  for (const { key, ...wait } of process.waits) lockOf(key).waiters.push({ ...client, ...wait });
}

function sortLine({ waiters }: LockReport): void {
  waiters.sort((a, b) => b.waitingFor - a.waitingFor);
  waiters.forEach((waiter, place) => {
    waiter.ahead = place;
  });
}
