/**
 * Taken off a lease on this side, so that `lost` fires here before the server gives the lock to another (R12):
 * max(100 ms, a tenth), but at most half of a short fixed lease, which would otherwise be lost from the start.
 *
 * @param lease the whole lease, ms
 * @param given what the server has granted of it now (ms): a tenth of that is enough
 */
export function safetyMargin(lease: number, given = lease): number {
  return Math.min(Math.max(100, Math.min(lease, given) / 10), lease / 2);
}
