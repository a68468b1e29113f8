import { wholeNumber } from '../../../lib/core/options/option-domains.js';
import type { World } from '../world/world.js';
import { LOSSES } from './breaks.js';
import type { Excuses } from './excuses.js';
import type { Findings } from './findings.js';
import { nameOf, type LockState, type RequestRecord } from './history.js';
import { nameOfPlace, sequencesOf, type Holding, type LockData } from './lock-data.js';
import type { ServerData } from './server-data.js';

/** A lock, or the weight of a hold, that the server keeps. */
interface Kept {
  readonly record: RequestRecord;
  /** What it was before. */
  readonly holding: Holding;
  /** Server ms. */
  readonly until: number;
  readonly at: number;
}

/**
 * What `holdAtLeast` promises: a hold that is released early is kept until its time, counted from its grant by the server's clock, and
 * no longer.
 */
export class KeptHolds {
  /** Released early by their callers. */
  private readonly ending = new Map<LockState, Set<RequestRecord>>();
  private readonly kept = new Map<LockState, Kept[]>();

  constructor(
    private readonly world: World,
    private readonly excuses: Excuses,
    private readonly findings: Findings,
    private readonly data: ServerData,
  ) {}

  /** Its caller releases it, and holds it until now. */
  ends(lock: LockState, record: RequestRecord): void {
    const ending = this.ending.get(lock) ?? new Set();
    this.ending.set(lock, ending.add(record));
  }

  /** A script has made `after` of `before`. */
  check(
    lock: LockState,
    script: string,
    args: readonly string[],
    { before, after }: { before: LockData; after: LockData },
  ): void {
    this.checkKept(lock, after);
    for (const record of this.ending.get(lock) ?? []) {
      const held = this.data.holdingOf(record, before, after.now);
      if (held && this.data.holdingOf(record, after)) continue;
      this.ending.get(lock)?.delete(record);
      if (held && endedBy(record, held, before, script, args)) this.ended(lock, record, held, before, after);
    }
  }

  private ended(
    lock: LockState,
    record: RequestRecord,
    held: Holding,
    before: LockData,
    after: LockData,
  ): void {
    const { now } = after;
    const keep = wholeNumber('holdAtLeast', record.planned.holdAtLeast ?? 0) ?? 0;
    // Of a run, the first token names the grant.
    const [first = held] = before.holdings;
    const holding = held.share ? held : first;
    const found = after.holdings.find((other) => isKeptOf(other, holding));
    // While the clock is behind the number of a shared hold, the server counts from the release.
    const least = Math.min(held.since, now) + keep;
    const most = Math.max(held.since, record.grantedAtServer ?? now) + keep + 1;
    // Set back, the clock of the server shows a time that is over as not yet over.
    const isOver = this.world.now - (record.passedAt ?? this.world.now) >= keep;
    // A server that lost the release shows the hold again, and its client ends that at once.
    const wasLost = this.excuses.dataLostSince(lock.name, record.passedAt ?? 0);
    if (!found && least > now && !isOver && !wasLost && !record.client.closed)
      this.findings.violate(
        'kept',
        `${lock.name} is passed on ${least - now} ms before ${nameOf(record)} lets it`,
      );
    if (!found) return;
    this.findings.tally.kept += 1;
    const wasSet = this.excuses.breaks.some(({ kind }) => kind.startsWith('clock-'));
    if (found.end < least || (found.end > most && !wasSet))
      this.findings.violate(
        'kept',
        `${lock.name} is kept until ${found.end}, not between ${least} and ${most}`,
      );
    const kept = this.kept.get(lock) ?? [];
    this.kept.set(lock, [...kept, { record, holding, until: least, at: this.world.now }]);
  }

  /** It is still there when the line of its lock changes. */
  private checkKept(lock: LockState, after: LockData): void {
    const kept = this.kept.get(lock);
    if (!kept) return;
    const present = kept.filter(({ until }) => until > after.now);
    const left = present.filter(({ holding }) => after.holdings.some((other) => isKeptOf(other, holding)));
    this.kept.set(lock, left);
    for (const { record, until, at } of present.filter((one) => !left.includes(one))) {
      const wasEnded = this.excuses.breaks.some(
        (broke) =>
          (LOSSES.has(broke.kind) || broke.kind === 'taken-away') &&
          (broke.lock ?? lock.name) === lock.name &&
          broke.at >= at,
      );
      if (wasEnded) continue;
      this.findings.violate(
        'kept',
        `${lock.name} is free ${until - after.now} ms before ${nameOf(record)} lets it`,
      );
    }
  }
}

function isKeptOf(holding: Holding, held: Holding): boolean {
  const { kept, number, share } = holding;
  return (
    kept && number === held.number && (share === undefined || nameOfPlace(holding) === nameOfPlace(held))
  );
}

/** Whether the script is the release that the client of this hold sends. */
function endedBy(
  { client, sequence }: RequestRecord,
  held: Holding,
  before: LockData,
  script: string,
  [caller = '', named = '']: readonly string[],
): boolean {
  if (!client.ids.has(caller)) return false;
  if (held.share) return script === 'releaseShared' && sequencesOf(named).includes(String(sequence));
  return script === 'release' && before.holdings.some(({ number }) => String(number) === named);
}
