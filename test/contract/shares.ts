import { type LockRequest } from '../../lib/core/port/lock-store.js';

/** What a request says of how it shares the lock; nothing: a plain lock, or a writer. */
export type Sharing = Pick<LockRequest, 'share'> & { readonly waitTime?: number; readonly maxQueue?: number };

export const read: Sharing = { share: { mode: 'read' } };

export function permits(permits: number, weight = 1): Sharing {
  return { share: { mode: 'permits', permits, weight } };
}
