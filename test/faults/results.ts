import { appendFileSync } from 'node:fs';
import type { Excuses } from '../support/history/report.js';

/** What a test found; the summary at the end of a run reads it. */
export type Result =
  /** `bound`: null where it depends on what else happened. */
  | { readonly type: 'measured'; readonly took: number; readonly bound: number | null }
  | {
      readonly type: 'history';
      readonly grants: number;
      /** How often each invariant was broken. */
      readonly broken: Readonly<Record<number, number>>;
      readonly excuses: Excuses;
    }
  | { readonly type: 'keysWithoutTtl'; readonly many: number }
  | { readonly type: 'seed'; readonly seed: number };

/** A line in the file that FAULTS_RESULTS names, if it names one. */
export function writeResult(result: Result): void {
  const file = process.env['FAULTS_RESULTS'];
  const test = expect.getState().currentTestName ?? '';
  if (file) appendFileSync(file, `${JSON.stringify({ test, ...result })}\n`);
  if (process.env['FAULTS_VERBOSE'] && result.type === 'measured')
    process.stderr.write(`${test}: ${result.took.toFixed(0)} of ${result.bound?.toFixed(0) ?? '?'} ms\n`);
}
