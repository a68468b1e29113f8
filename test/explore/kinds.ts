import type { Share } from '../../lib/core/port/lock-store.js';

/** How a request holds the lock: `plain`, `read`, or `1/2` for one of two permits; with `+keep`, the lock is kept after a short section. */
export type Kind = string;

const KIND = /^(?:plain|read|(\d)\/(\d))(\+keep)?$/;

/** So long after its grant a lock is kept, ms: longer than some sections. */
export const KEEP = 3_000;

export function readKind(text: string): Kind {
  if (!KIND.test(text))
    throw new Error(`a kind is plain, read or like 1/2, with +keep if it is kept, not ${text}`);
  return text;
}

/** How a request of this kind shares the lock; undefined: it holds the lock alone. */
export function shareOf(kind: Kind): Share | undefined {
  const [, weight, permits] = KIND.exec(kind)!;
  if (kind.startsWith('read')) return { mode: 'read' };
  return permits === undefined
    ? undefined
    : { mode: 'permits', weight: Number(weight), permits: Number(permits) };
}

/** For how long after its grant the lock is kept, ms; undefined: it is not kept. */
export function keepOf(kind: Kind): number | undefined {
  return kind.endsWith('+keep') ? KEEP : undefined;
}

/** Whether the rule lets requests of these kinds hold the lock at the same time. */
export function fitTogether(kinds: readonly Kind[]): boolean {
  if (kinds.length < 2) return true;
  const shares = kinds.map(shareOf);
  if (shares.some((share) => share?.mode !== shares[0]?.mode)) return false;
  let used = 0;
  let limit = 0;
  for (const share of shares) {
    if (!share) return false;
    if (share.mode === 'read') continue;
    used += share.weight;
    limit = Math.max(limit, share.permits);
  }
  return used <= limit;
}
