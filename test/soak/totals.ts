import { stamp } from '../support/history/events.js';
import type { Excuse, Violation } from '../support/history/report.js';
import type { Verdict } from './verdict.js';

/** What came of a campaign so far. */
export class Totals {
  readonly begun = stamp();
  /** How often, by the invariant. */
  readonly broken: Record<string, number> = {};
  readonly explanations: string[] = [];
  faults: Record<string, number> = {};
  processes = 0;
  rounds = 0;
  grants = 0;
  timeouts = 0;
  errors = 0;
  lost = 0;
  /** What was not in order, by the reason for which that is not promised. */
  readonly excuses: Partial<Record<Excuse, number>> = {};
  seconds = 0;

  constructor(readonly seed: number) {}

  add(verdict: Verdict): void {
    this.rounds += 1;
    for (const count of ['grants', 'timeouts', 'errors', 'lost'] as const) {
      this[count] += verdict[count];
    }
    for (const [invariant, times] of Object.entries(verdict.broken)) this.count(invariant, times);
    for (const [excuse, times] of Object.entries(verdict.excuses) as [Excuse, number][]) {
      this.excuses[excuse] = (this.excuses[excuse] ?? 0) + times;
    }
    if (verdict.explanation) this.explanations.push(`round ${verdict.number}\n${verdict.explanation}`);
  }

  /** What no round could be blamed for. */
  broke(...violations: readonly Violation[][]): void {
    for (const { invariant, sentence } of violations.flat()) {
      this.count(invariant, 1);
      this.explanations.push(`${invariant}: ${sentence}`);
    }
  }

  get ok(): boolean {
    return this.explanations.length === 0;
  }

  private count(invariant: string, times: number): void {
    this.broken[invariant] = (this.broken[invariant] ?? 0) + times;
  }
}
