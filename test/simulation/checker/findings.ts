import type { World } from '../world/world.js';
import type { Excuse, Tally, Violation } from './history.js';

/** What is promised only where commands are answered in time. */
const LIVENESS = new Set(['false-alarm', 'lost-wake-up', 'order', 'dropped', 'closing']);

/** What is found wrong in a run, and what is counted in it. */
export class Findings {
  readonly violations: Violation[] = [];
  readonly tally = { grants: 0, requests: 0, commands: 0, faults: 0, lost: 0, kept: 0 } as Tally;

  constructor(
    private readonly world: World,
    private readonly isStrained: boolean,
  ) {}

  violate(invariant: string, text: string): void {
    if (this.isStrained && LIVENESS.has(invariant)) return;
    this.world.trace(() => `!!!! ${invariant}: ${text}`);
    this.violations.push({ invariant, at: this.world.now, text });
  }

  /** A promise did not hold: counted if there is an excuse for it. */
  judge(promise: 'order' | 'overlap' | 'tokens', excuse: Excuse | undefined, text: () => string): void {
    const invariant = { order: 'order', overlap: 'exclusion', tokens: 'fencing' }[promise];
    if (!excuse) return this.violate(invariant, text());
    this.world.trace(() => `???? ${invariant}: ${text()} (${excuse})`);
    const { tally } = this;
    tally[`excused ${promise}: ${excuse}`] = (tally[`excused ${promise}: ${excuse}`] ?? 0) + 1;
  }
}
