import { type Share } from '../../lib/core/port/lock-store.js';
import { mayHoldTogether } from './model.js';

/**
 * What happened to one request, as numbers of one sequence that counts every event of the test: the order in which
 * this process saw them, which is real time.
 */
export interface Entry {
  readonly key: string;
  /** For the report. */
  readonly name: string;
  readonly share: Share | undefined;
  sent?: number;
  /** The store said that it has a place in line, or the lock. */
  acknowledged?: number;
  granted?: number;
  token?: number | undefined;
  /** The holder gave it back, or had it taken by force. */
  ended?: number;
  /** The holder was told that it has lost the lock. */
  lost?: number;
  /** Its caller's signal aborted, or its wait time began to end: from here on it may be passed over. */
  gaveUp?: number;
}

/** Records what requests go through. */
export class History {
  readonly entries: Entry[] = [];
  private clock = 0;

  begin(key: string, name: string, share?: Share): Entry {
    const entry: Entry = { key, name, share };
    this.entries.push(entry);
    return entry;
  }

  stamp(entry: Entry, event: 'sent' | 'acknowledged' | 'granted' | 'ended' | 'lost' | 'gaveUp'): void {
    entry[event] ??= this.clock += 1;
  }

  /**
   * What is wrong with it, in sentences; nothing if the store kept its promises.
   *
   * @param mayLose whether a holder may lose its lock to no fault of its own, since force was used and is told by a
   * message: such a grant may overlap with the next, until the holder is told, and counts for nothing here
   */
  violations(mayLose: boolean): string[] {
    const lost = this.entries.filter(isLost);
    const found = mayLose ? [] : lost.map(({ name, key }) => `${name} lost ${key}`);
    const judged = mayLose ? this.entries.filter((entry) => !isLost(entry)) : this.entries;
    return [...found, ...overlaps(judged), ...inversions(judged), ...fallenTokens(judged)];
  }
}

/** Whether it lost the lock while it was inside. */
function isLost(entry: Entry): boolean {
  return entry.lost !== undefined && entry.lost < (entry.ended ?? Infinity);
}

/** Exclusion: a lock is granted only when those that hold it may hold it together with the next. */
function overlaps(entries: readonly Entry[]): string[] {
  return entries.flatMap((next) => {
    const holders = entries.filter(
      (other) =>
        other.key === next.key &&
        granted(other) <= granted(next) &&
        (other.ended ?? Infinity) > granted(next),
    );
    if (next.granted === undefined || mayHoldTogether(holders)) return [];
    return [`${holders.map(({ name }) => name).join(' and ')} hold ${next.key} at the same time`];
  });
}

/** First come, first served: a request that was acknowledged before another was sent is granted before it, unless it gave up. */
function inversions(entries: readonly Entry[]): string[] {
  const found = [];
  for (const first of entries) {
    const served = Math.min(first.granted ?? Infinity, first.gaveUp ?? Infinity);
    for (const second of entries) {
      if (second.key !== first.key || second.granted === undefined) continue;
      const cameLater = first.acknowledged !== undefined && first.acknowledged < (second.sent ?? 0);
      if (cameLater && second.granted < served) {
        found.push(`${second.name} came after ${first.name} and got ${first.key} before it`);
      }
    }
  }
  return found;
}

function fallenTokens(entries: readonly Entry[]): string[] {
  return neighbours(entries)
    .filter(([before, after]) => (before.token ?? 0) >= (after.token ?? Infinity))
    .map(([before, after]) => `the token of ${after.name} is not higher than that of ${before.name}`);
}

/** Each grant with the next one of the same lock. */
function neighbours(entries: readonly Entry[]): [Entry, Entry][] {
  const pairs: [Entry, Entry][] = [];
  const last = new Map<string, Entry>();
  const grants = entries.filter((entry) => entry.granted !== undefined);
  for (const entry of grants.sort((one, other) => granted(one) - granted(other))) {
    const before = last.get(entry.key);
    if (before) pairs.push([before, entry]);
    last.set(entry.key, entry);
  }
  return pairs;
}

function granted(entry: Entry): number {
  return entry.granted ?? Infinity;
}
