import type { LockSnapshot } from '../../core/port/lock-store.js';
import { keeper, type InspectReply } from './commands/reply.js';

/** The display name of this client's request with an id on the wire, and since when it holds or waits. */
type Describe = (id: string) => { readonly who: string; readonly since: number } | undefined;

/** What the inspect script shows. The wire format has neither labels nor durations, so only those of this client are shown. */
export function toSnapshot(key: string, shown: InspectReply, describe: Describe): LockSnapshot {
  const waiters = shown.waiters.map(({ id, left }) => {
    const [who, waitingFor] = known(id, describe);
    return { id, client: clientOf(id), who, waitingFor, live: left > 0 };
  });
  const { holder, leaseLeft, queueLength } = shown;
  if (holder === undefined) return { key, holder, holders: [], waiters, queueLength };
  const last = keeper(holder);
  if (last !== undefined) {
    const kept = { who: last, token: undefined, left: leaseLeft };
    return { key, holder: undefined, holders: [], kept, waiters, queueLength };
  }
  const [who, heldFor] = known(holder, describe);
  const only = { client: clientOf(holder), who, token: undefined, heldFor, leaseLeft };
  return { key, holder: only, holders: [only], waiters, queueLength };
}

/** A request is `uuid:thread` on the wire. */
function clientOf(id: string): string {
  return id.slice(0, id.lastIndexOf(':'));
}

function known(id: string, describe: Describe): [who: string, forMs: number | undefined] {
  const ours = describe(id);
  return ours ? [ours.who, performance.now() - ours.since] : [id, undefined];
}
