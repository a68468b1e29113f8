import type { LockRequest, Share } from '../../core/port/lock-store.js';

/**
 * How a request should hold the lock, as its name in Redis says it (scripts/includes/terms.lua): empty for a usual one, or `r` for a
 * reader or `p<weight>/<permits>`, then `f<ms>` if its lease is fixed, `a` if it shares no row (`holdAtLeast`, `maxQueue`), and `u` if Redis cannot count the channel
 * of its client.
 */
export function termsOf({ share, leaseTime, alone, maxQueue }: LockRequest, uncounted: boolean): string {
  let terms = '';
  if (share) terms = share.mode === 'read' ? 'r' : `p${share.weight}/${share.permits}`;
  if (leaseTime !== undefined) terms += `f${leaseTime}`;
  // Redis would count those of a row that have had their turns.
  if (alone || maxQueue < Infinity) terms += 'a';
  return uncounted ? terms + 'u' : terms;
}

/** With whom a request with these terms holds the lock; undefined: alone. */
export function shareOf(terms: string): Share | undefined {
  if (terms.startsWith('r')) return { mode: 'read' };
  const [, weight, permits] = /^p(\d+)\/(\d+)/.exec(terms) ?? [];
  if (permits === undefined) return undefined;
  return { mode: 'permits', permits: Number(permits), weight: Number(weight) };
}
