import type { World } from '../world/world.js';
import type { Excuses } from './excuses.js';
import type { Tally, Violation } from './history.js';

/** What is promised only where commands are answered in time. */
const LIVENESS = new Set(['false-alarm', 'lost-wake-up', 'busy', 'order', 'closing', 'repeated']);

/** What is found wrong in a run, and what is counted in it. */
export class Findings {
  readonly violations: Violation[] = [];
  readonly tally: Tally = {
    grants: 0,
    requests: 0,
    commands: 0,
    faults: 0,
    lost: 0,
    excusedOverlaps: 0,
    excusedInversions: 0,
    kept: 0,
    worstGap: 0,
  };

  constructor(
    private readonly world: World,
    private readonly excuses: Excuses,
  ) {}

  violate(invariant: string, text: string): void {
    if (this.excuses.isStrained && LIVENESS.has(invariant)) return;
    this.world.trace(() => `!!!! ${invariant}: ${text}`);
    this.violations.push({ invariant, at: this.world.now, text });
  }
}
