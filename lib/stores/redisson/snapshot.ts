import type { LockSnapshot } from '../../core/port/lock-store.js';
import type { LockTimeoutError } from '../../core/errors/errors.js';
import type { InspectReply } from './commands.js';
import { clientOf, type Listeners } from './listeners.js';

/** The display name of this client's request with an id in Redis, and since when it holds or waits (monotonic ms). */
type Describe = (id: string) => { readonly who: string; readonly since: number } | undefined;

/** What the inspect script shows. The wire format has neither labels nor durations, so only those of this client are shown. */
export function toSnapshot(
  key: string,
  shown: InspectReply,
  describe: Describe,
  listens: Listeners = () => true,
): LockSnapshot {
  const waiters = shown.waiters.map(({ id, left }) => {
    const [who, waitingFor] = known(id, describe);
    const client = clientOf(id);
    const live = waitingFor !== undefined || (left > 0 && listens(id));
    return { id, client, who, waitingFor, live, deadlineLeft: left };
  });
  const { holder, leaseLeft, queueLength } = shown;
  if (holder === undefined) return { key, holder, holders: [], waiters, queueLength };
  const last = keeper(holder);
  if (last !== undefined) {
    const kept = { who: last, token: undefined, left: leaseLeft };
    return { key, holder: undefined, holders: [], kept, waiters, queueLength };
  }
  const [who, heldFor] = known(holder, describe);
  const only = { client: clientOf(holder), who, token: undefined, heldFor, leaseLeft, id: holder };
  return { key, holder: only, holders: [only], waiters, queueLength };
}

/** What an error says of the holder. `left`: ms of its lease. */
export function toBlocker(
  holder: string | undefined,
  left: number,
  describe: Describe,
): LockTimeoutError['blockedBy'] {
  if (holder === undefined) return {};
  const last = keeper(holder);
  if (last !== undefined) return { holder: last, keptFor: left };
  const [who, heldFor] = known(holder, describe);
  return { holder: who, heldFor };
}

/** The request that held the lock, if `holder` means that the lock is kept after it (scripts/includes/lock.lua). */
export function keeper(holder = ''): string | undefined {
  return /^kept:(.*)$/s.exec(holder)?.[1];
}

function known(id: string, describe: Describe): [who: string, forMs: number | undefined] {
  const ours = describe(id);
  return ours ? [ours.who, performance.now() - ours.since] : [id, undefined];
}
