import type { RequestRecord } from './history.js';
import type { Holding, Place } from './lock-data.js';

type Sharing = Pick<Place, 'share'>;

/** Whether the rule may have let these in while each of them held the lock. */
export function mayHoldTogether(holding: readonly RequestRecord[]): boolean {
  const all = holding.map(({ planned: { share }, number, token }) => ({
    share,
    // What the server names a hold by, which rises; a former primary did so unseen.
    name: number ?? (token || Number.MAX_SAFE_INTEGER),
  }));
  if (all.length > 1 && all.some(({ share }) => share === undefined)) return false;
  if (kindsOf(all).size > 1) return false;
  return all.every(({ name }) => {
    const before = all.filter((other) => other.name <= name);
    // Those that came in together did so in an order that is not known.
    const largest = Math.max(...before.filter((other) => other.name === name).map(limitOf));
    return before.length === 1 || weightOf(before) <= largest;
  });
}

/**
 * What the rule forbids when `admitted` are let in one after the other (docs/protocol.md, "Shared locks"); undefined if it allows them.
 *
 * @param others hold the lock already
 * @param limit the largest that may count for the first; and again for the first that a script lets in after a request has joined the line
 */
export function overAdmission(
  others: readonly Sharing[],
  admitted: readonly Pick<Holding, 'share' | 'number'>[],
  limit: number,
): string | undefined {
  const kinds = kindsOf([...others, ...admitted]);
  if (kinds.size > 1) return `holds of several kinds: ${[...kinds].join(', ')}`;
  // Several alone are a run, which is one grant; others of the kind would be another.
  if (kinds.has('alone')) return others.length > 0 ? 'two grants to hold it alone' : undefined;
  const present = [...others];
  let most = limit;
  let step: number | undefined;
  for (const one of admitted) {
    if (one.number !== step) most = limit;
    step = one.number;
    most = Math.min(most, limitOf(one));
    present.push(one);
    if (present.length > 1 && weightOf(present) > most)
      return `${weightOf(present)} of ${most} permits taken`;
    most = limitOf(one);
  }
  return undefined;
}

function kindsOf(all: readonly Sharing[]): ReadonlySet<string> {
  return new Set(all.map(({ share }) => share?.mode ?? 'alone'));
}

function weightOf(all: readonly Sharing[]): number {
  return all.reduce((sum, { share }) => sum + (share?.mode === 'permits' ? share.weight : 0), 0);
}

function limitOf({ share }: Sharing): number {
  return share?.mode === 'permits' ? share.permits : Infinity;
}
