import type { Share } from './lock-store.js';

/** What is held of a lock, as far as it decides who is admitted next. */
export interface Held {
  /** The sum of the weights; a read weighs 1, and so does a holder alone. What `holdAtLeast` keeps counts as held. */
  readonly used: number;
  /** How the holders share the lock; undefined if one request holds it alone, or the lock is free. */
  readonly mode: Share['mode'] | undefined;
  /**
   * `permits` of the permit request that joined the queue, or was granted, last; undefined: there was none since the lock was free.
   * A request that finds no queue joins it before it is judged, so its own number counts.
   */
  readonly limit: number | undefined;
}

/**
 * Whether the head of the queue gets the lock now. If not, it blocks all behind it, whatever they are; that keeps writers and heavy requests
 * from starving. Each change is checked again: an end, a departure from the queue, and a request that joins and so moves the limit.
 *
 * A weight that a lowered limit no longer fits is admitted when nothing is held: no head blocks forever.
 */
export function admits({ used, mode, limit = Infinity }: Held, head: Share | undefined): boolean {
  if (used === 0) return true;
  if (!head || head.mode !== mode) return false;
  return head.mode === 'read' || used + head.weight <= Math.min(head.permits, limit);
}

/** How much a request takes of a lock. */
export function weightOf(share: Share | undefined): number {
  return share?.mode === 'permits' ? share.weight : 1;
}
