import type { Share } from './lock-store.js';

/**
 * What is held of a lock, as far as it decides who is admitted next. What `holdAtLeast` keeps counts as held.
 *
 * While a permit request holds the lock, no more than its own `permits` are taken. So the smallest of those that hold counts, and no request
 * that waits, leaves or is rejected changes it.
 */
export class Held {
  /** The sum of the weights; a read weighs 1, and so does a holder alone. */
  used = 0;
  /** How the holders share the lock; undefined if one request holds it alone, or the lock is free. */
  mode: Share['mode'] | undefined;
  /** How many holders have each number of `permits`. */
  private holdersOf: Map<number, number> | undefined;

  /** The smallest `permits` of the holders; undefined if none has any. */
  get limit(): number | undefined {
    return this.holdersOf?.size ? Math.min(...this.holdersOf.keys()) : undefined;
  }

  /**
   * Whether the head of the queue gets the lock now. If not, it blocks all behind it, whatever they are; that keeps writers and heavy
   * requests from starving. Each change is checked again: an end, and a departure from the queue.
   */
  admits(head: Share | undefined): boolean {
    if (this.used === 0) return true;
    if (!head || head.mode !== this.mode) return false;
    return head.mode === 'read' || this.used + head.weight <= Math.min(head.permits, this.limit ?? Infinity);
  }

  add(share: Share | undefined): void {
    this.used += weightOf(share);
    this.mode = share?.mode;
    if (share?.mode !== 'permits') return;
    const { permits } = share;
    this.holdersOf ??= new Map();
    this.holdersOf.set(permits, (this.holdersOf.get(permits) ?? 0) + 1);
  }

  delete(share: Share | undefined): void {
    this.used -= weightOf(share);
    if (this.used === 0) this.mode = undefined;
    if (share?.mode !== 'permits' || !this.holdersOf) return;
    const { permits } = share;
    const others = (this.holdersOf.get(permits) ?? 0) - 1;
    if (others > 0) this.holdersOf.set(permits, others);
    else this.holdersOf.delete(permits);
  }
}

/** How much a request takes of a lock. */
export function weightOf(share: Share | undefined): number {
  return share?.mode === 'permits' ? share.weight : 1;
}
