/**
 * Taken off a lease on this side, so that `lost` fires here before the server gives the lock to another (R12):
 * max(100 ms, a tenth), but at most half of a short fixed lease, which would otherwise be lost from the start.
 */
export function safetyMargin(lease: number): number {
  return Math.min(Math.max(100, lease / 10), lease / 2);
}
