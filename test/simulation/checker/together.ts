import type { RequestRecord } from './history.js';

/** Whether the rule lets these hold one lock at the same time: only reads, or permits whose weights fit into their limit. */
export function mayHoldTogether(holding: readonly RequestRecord[]): boolean {
  const shares = holding.map(({ planned }) => planned.share);
  let used = 0;
  let limit = Infinity;
  for (const share of shares) {
    if (!share || share.mode !== shares[0]?.mode) return false;
    if (share.mode === 'read') continue;
    used += share.weight;
    limit = Math.min(limit, share.permits);
  }
  return used <= limit;
}
