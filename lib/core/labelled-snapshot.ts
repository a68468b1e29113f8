import type { HoldReport, ProcessReport } from './lock-overview.js';
import type { LockSnapshot } from './lock-store.js';

/** `snapshot` with `host/pid/label` wherever a process reports the label of a hold or a wait that the store knows by an id. */
export function withLabels(snapshot: LockSnapshot, reports: readonly ProcessReport[]): LockSnapshot {
  const { holder, waiters } = snapshot;
  const waits = new Map<string, string>();
  for (const process of reports) {
    for (const { id, label } of process.waits) {
      if (id !== undefined) waits.set(id, who(process, label));
    }
  }
  const known = reportedHold(snapshot, reports);
  return {
    ...snapshot,
    holder: holder && { ...holder, who: known ? who(known.process, known.hold.label) : holder.who },
    waiters: waiters.map((waiter) => ({ ...waiter, who: waits.get(waiter.id ?? '') ?? waiter.who })),
  };
}

/** What the process of the holder reports of its hold. */
export function reportedHold(
  { key, holder }: LockSnapshot,
  reports: readonly ProcessReport[],
): { readonly process: ProcessReport; readonly hold: HoldReport } | undefined {
  const process = reports.find(({ clientId }) => clientId === holder?.client);
  const hold = process?.holds.find(
    (each) => each.key === key && (holder?.token === undefined || holder.token === each.token),
  );
  return process && hold && { process, hold };
}

function who({ host, pid }: ProcessReport, label = ''): string {
  return `${host}/${pid}/${label}`;
}
