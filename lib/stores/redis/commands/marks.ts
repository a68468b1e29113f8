import type { RequestName } from './arguments.js';

/**
 * What distinguishes a request in the queue: its fixed lease in ms; where the lease is renewed, empty, or 'alone' for a request that joins
 * no batch. For a shared request `r` or `p<weight>/<permits>`, and `,<ms>` if its lease is fixed.
 */
export function markOf({ leaseTime, alone, share }: RequestName): number | string {
  const lease = leaseTime === undefined ? undefined : Math.round(leaseTime);
  if (!share) return lease ?? (alone ? 'alone' : '');
  const kind = share.mode === 'read' ? 'r' : `p${share.weight}/${share.permits}`;
  return lease === undefined ? kind : `${kind},${lease}`;
}

/** A shared request as `releaseShared` reads it. */
export function withMark(request: RequestName): string {
  return `${request.sequence}:${request.share ? markOf(request) : ''}`;
}
