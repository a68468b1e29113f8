import type { World } from '../world/world.js';
import type { Excuses } from './excuses.js';
import { gaveUp, type LockState, type RequestRecord } from './history.js';
import { live, type Holding } from './lock-data.js';
import type { ServerData } from './server-data.js';

/** Who could hold a shared lock now, beside those that do, and does not. */
export class SharedNeed {
  constructor(
    private readonly world: World,
    private readonly excuses: Excuses,
    private readonly data: ServerData,
  ) {}

  next(lock: LockState): RequestRecord | undefined {
    const waiting = [...lock.waiting].filter((record) => this.isInLine(record));
    if (waiting.length === 0) return undefined;
    const data = this.data.of(lock.name);
    const holdings = live(data, this.data.now);
    // The server has let it in, and it does not know. Of a run, the others have their turns later.
    const alone = holdings.filter(({ share }) => share === undefined);
    const hasTurn = alone.some((holding) => this.isHeld(lock, holding));
    const unaware = waiting.find((record) => {
      const holding = this.data.holdingOf(record, data, this.data.now);
      return holding && !(holding.share === undefined && hasTurn);
    });
    if (unaware) return this.excuses.isTooShort(unaware) ? undefined : unaware;
    const held = holdings.filter((holding) => this.counts(lock, holding));
    const fits = ({ planned: { share } }: RequestRecord): boolean => {
      if (held.length === 0) return true;
      if (!share || held.some((holding) => holding.share?.mode !== share.mode)) return false;
      if (share.mode === 'read') return true;
      const used = held.reduce(
        (sum, other) => sum + (other.share?.mode === 'permits' ? other.share.weight : 0),
        0,
      );
      return used + share.weight <= Math.min(share.permits, data.limit ?? share.permits);
    };
    const inLine = data.queue.map((place) => this.data.recordOf(place));
    const head = inLine.find((record) => record && waiting.includes(record));
    // Where the line was lost, any of them may be the first to come back.
    const next = head ?? waiting[0];
    return next && (head ? fits(head) : waiting.every(fits)) ? next : undefined;
  }

  private isInLine(record: RequestRecord): boolean {
    return record.ackedAt !== undefined && !gaveUp(record, this.world.now);
  }

  private isHeld(lock: LockState, holding: Holding): boolean {
    const record = this.data.recordOf(holding);
    return record !== undefined && lock.holds.has(record);
  }

  /** What a process that lives has neither, and does not wait for, should have been given back. */
  private counts(lock: LockState, holding: Holding): boolean {
    if (holding.kept || this.isHeld(lock, holding)) return true;
    const record = this.data.recordOf(holding);
    return !record?.client.process.alive || lock.waiting.has(record);
  }
}
