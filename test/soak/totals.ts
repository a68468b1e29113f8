import { stamp } from '../support/history/events.js';
import type { Excuse, Violation } from '../support/history/report.js';
import type { Verdict } from './verdict.js';

/** What came of a campaign so far. */
export class Totals {
  readonly begun = stamp();
  readonly broken: Record<number, number> = {};
  readonly explanations: string[] = [];
  readonly worstRecoveryMs: Record<string, number> = {};
  faults: Record<string, number> = {};
  processes = 0;
  rounds = 0;
  grants = 0;
  localGrants = 0;
  timeouts = 0;
  errors = 0;
  lost = 0;
  /** What was not in order, by the reason for which that is not promised. */
  readonly excuses: Partial<Record<Excuse, number>> = {};
  seconds = 0;

  constructor(readonly seed: number) {}

  add(verdict: Verdict): void {
    this.rounds += 1;
    for (const count of ['grants', 'localGrants', 'timeouts', 'errors', 'lost'] as const) {
      this[count] += verdict[count];
    }
    for (const [invariant, times] of Object.entries(verdict.broken)) this.count(Number(invariant), times);
    for (const [excuse, times] of Object.entries(verdict.excuses) as [Excuse, number][]) {
      this.excuses[excuse] = (this.excuses[excuse] ?? 0) + times;
    }
    for (const [row, ms] of Object.entries(verdict.worstRecoveryMs)) {
      this.worstRecoveryMs[row] = Math.max(this.worstRecoveryMs[row] ?? 0, Math.round(ms));
    }
    if (verdict.explanation) this.explanations.push(`round ${verdict.number}\n${verdict.explanation}`);
  }

  /** What no round could be blamed for. */
  broke(...violations: readonly Violation[][]): void {
    for (const { invariant, sentence } of violations.flat()) {
      this.count(invariant, 1);
      this.explanations.push(`invariant ${invariant}: ${sentence}`);
    }
  }

  get ok(): boolean {
    return this.explanations.length === 0;
  }

  /** The closing line. */
  toJSON(): object {
    const broken = (invariant: number): number => this.broken[invariant] ?? 0;
    const { kill = 0 } = this.faults;
    return {
      grants: this.grants,
      overlaps: broken(1) + broken(7),
      inversions: broken(3),
      tokenRegressions: broken(2),
      lostWakeups: broken(4),
      notExactlyOnce: broken(5),
      leakedKeys: broken(6),
      unhandled: broken(8),
      nesting: broken(9),
      overTheRule: broken(10),
      weightLost: broken(11),
      keptLockEntered: broken(12),
      worstRecoveryMs: this.worstRecoveryMs,
      seed: this.seed,
      faults: Object.values(this.faults).reduce((sum, times) => sum + times, 0),
      kills: kill,
      localGrants: this.localGrants,
      excuses: this.excuses,
      processes: this.processes,
      seconds: Math.round(this.seconds),
    };
  }

  private count(invariant: number, times: number): void {
    this.broken[invariant] = (this.broken[invariant] ?? 0) + times;
  }
}
