import { type LockOverview, type LockReport } from '../core/lock-overview.js';
import { type LockHolder, type LockSnapshot } from '../core/lock-store.js';
import { parseWho } from './who.js';

/** How many of a line are drawn; the rest is counted. */
const MOST_WAITERS = 500;

/**
 * One lock as a picture of its line. Redis knows the order, the lease and which clients are heard from; the processes know
 * labels, traces and what a waiter holds meanwhile.
 */
export function lineMessage(snapshot: LockSnapshot, overview: LockOverview) {
  const report = overview.locks.find(({ key }) => key === snapshot.key);
  const nextReport = reportsByProcess(report);
  return {
    key: snapshot.key,
    holder: snapshot.holder && holderOf(snapshot.holder, report),
    queueLength: snapshot.queueLength,
    waiters: snapshot.waiters.slice(0, MOST_WAITERS).map(({ who, waitingFor, live }) => {
      const { host, pid, label } = parseWho(who);
      const reported = nextReport(host, pid);
      return {
        host,
        pid,
        label: label ?? reported?.label,
        waitingFor: waitingFor ?? reported?.waitingFor,
        live,
        inside: reported?.inside ?? [],
        traceId: reported?.traceId,
      };
    }),
  };
}

function holderOf({ who, token, heldFor, leaseLeft }: LockHolder, report: LockReport | undefined) {
  // A report of another hold is of another moment.
  const reported = report?.holder?.token === token ? report?.holder : undefined;
  const { host, pid, label } = parseWho(who);
  return {
    host,
    pid,
    label: label ?? reported?.label,
    token,
    heldFor: heldFor ?? reported?.heldFor,
    // Infinity, in the memory store, becomes null.
    leaseLeft,
    state: reported?.state ?? 'silent',
    traceId: reported?.traceId,
  };
}

/** Waits of one process for one key are served in the order in which they came: its first report is of its first place. */
function reportsByProcess(report: LockReport | undefined) {
  const byProcess = new Map<string, LockReport['waiters']>();
  for (const waiter of report?.waiters ?? []) {
    const id = `${waiter.host}/${waiter.pid}`;
    byProcess.set(id, [...(byProcess.get(id) ?? []), waiter]);
  }
  for (const waiters of byProcess.values()) waiters.sort((a, b) => b.waitingFor - a.waitingFor);
  return (host: string, pid: number) => byProcess.get(`${host}/${pid}`)?.shift();
}
