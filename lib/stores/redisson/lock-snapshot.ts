import type { LockSnapshot, LockWaiter } from '../../core/lock-store.js';

/** How many waiters `inspect` names; the rest is only counted. */
export const MOST_WAITERS_SHOWN = 1_000;

/** Who this client knows under an id of the wire, and since when. */
type Describe = (id: string) => { readonly who: string; readonly since: number } | undefined;

/** Reads the answer of the inspect script. The wire knows neither labels nor durations: only this client's own are told. */
export function toSnapshot(
  key: string,
  details: readonly (string | number | undefined)[],
  describe: Describe,
): LockSnapshot {
  const [holder, leaseLeft, queueLength, ...entries] = details;
  const waiters: LockWaiter[] = [];
  for (let i = 0; i < entries.length; i += 2) {
    const [who, waitingFor] = known(String(entries[i]), describe);
    waiters.push({ who, waitingFor, live: Number(entries[i + 1]) > 0 });
  }
  const [who, heldFor] = known(String(holder), describe);
  const left = Number(leaseLeft) < 0 ? Infinity : Number(leaseLeft);
  return {
    key,
    holder: holder === '' ? undefined : { who, token: undefined, heldFor, leaseLeft: left },
    waiters,
    queueLength: Number(queueLength),
  };
}

function known(id: string, describe: Describe): [who: string, forMs: number | undefined] {
  const ours = describe(id);
  return ours ? [ours.who, performance.now() - ours.since] : [id, undefined];
}
