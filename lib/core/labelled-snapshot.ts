import type { ProcessReport } from './lock-overview.js';
import type { LockSnapshot } from './lock-store.js';

/** `snapshot` with `host/pid/label` wherever a process reports the label of a hold or a wait that the store knows by an id. */
export function withLabels(snapshot: LockSnapshot, reports: readonly ProcessReport[]): LockSnapshot {
  const { key, holder, waiters } = snapshot;
  const waits = new Map<string, string>();
  let holderIs: string | undefined;
  for (const process of reports) {
    for (const { id, label } of process.waits) {
      if (id !== undefined) waits.set(id, who(process, label));
    }
    for (const { key: held, token, label } of process.holds) {
      if (held !== key || process.clientId !== holder?.client) continue;
      if (holder.token === undefined || holder.token === token) holderIs = who(process, label);
    }
  }
  return {
    ...snapshot,
    holder: holder && { ...holder, who: holderIs ?? holder.who },
    waiters: waiters.map((waiter) => ({ ...waiter, who: waits.get(waiter.id ?? '') ?? waiter.who })),
  };
}

function who({ host, pid }: ProcessReport, label = ''): string {
  return `${host}/${pid}/${label}`;
}
