import { existsSync, mkdtempSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROWS } from './rows.mjs';

/** Sums a run up: each row of the fault table with its worst figure, and one JSON line at the very end. */
export default class FaultReporter {
  #folder = mkdtempSync(join(tmpdir(), 'fair-lock-faults-'));
  #file = join(this.#folder, 'results');
  #whole;
  #missing = [];

  constructor({ testNamePattern, nonFlagArgs = [] }) {
    process.env.FAULTS_RESULTS = this.#file;
    // A part of the tests need not cover every row.
    this.#whole = !testNamePattern && nonFlagArgs.length === 0;
  }

  onRunComplete(_contexts, { testResults }) {
    const results = this.#results();
    const tests = testResults.flatMap(({ testResults }) => testResults);
    const rows = ROWS.map((row) => summary(row, tests, results));
    for (const row of rows) process.stderr.write(`${sentence(row)}\n`);
    this.#missing = rows.filter(({ ran, skipped }) => ran === 0 && skipped === 0).map(({ row }) => row);
    const closing = JSON.stringify(line(rows, results));
    process.once('exit', () => writeSync(1, `${closing}\n`)); // behind all that jest has to say
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** Makes the run fail. */
  getLastError() {
    if (!this.#whole || this.#missing.length === 0) return undefined;
    return new Error(`Rows of the fault table without a test: ${this.#missing.join('; ')}.`);
  }

  #results() {
    if (!existsSync(this.#file)) return [];
    const lines = readFileSync(this.#file, 'utf8').split('\n');
    return lines.filter((line) => line !== '').map((line) => JSON.parse(line));
  }
}

function summary({ row, within, tests: pattern }, tests, results) {
  const mine = tests.filter(({ fullName }) => pattern.test(fullName));
  const measured = results.filter(({ type, test }) => type === 'measured' && pattern.test(test));
  // How near it came to what was allowed counts, not how long it took: a row has bounds of several kinds.
  const worst = measured.toSorted((one, other) => other.took - other.bound - (one.took - one.bound))[0];
  const count = (status) => mine.filter((test) => test.status === status).length;
  return {
    row,
    within,
    worst,
    longest: Math.max(0, ...measured.map(({ took }) => took)),
    failed: count('failed'),
    skipped: count('pending'),
    ran: count('passed') + count('failed'),
  };
}

function sentence({ row, within, worst, longest, failed, skipped, ran }) {
  const state = failed > 0 ? 'FAILED' : ran > 0 ? 'ok' : skipped > 0 ? 'NOT RUN' : 'NO TEST';
  const figures = worst
    ? `${worst.bound === null ? '' : `nearest ${worst.took.toFixed(0)} of ${worst.bound.toFixed(0)} ms + ε, `}longest ${longest.toFixed(0)} ms`
    : '';
  return `${state.padEnd(8)} ${row.padEnd(40)} ${within.padEnd(20)} ${figures}`;
}

function line(rows, results) {
  const histories = results.filter(({ type }) => type === 'history');
  const broken = (invariant) => sum(histories, ({ broken }) => broken[invariant] ?? 0);
  const withFigures = rows.filter(({ worst }) => worst);
  const notRun = rows.filter(({ ran, skipped }) => ran === 0 && skipped > 0).map(({ row }) => row);
  return {
    grants: sum(histories, ({ grants }) => grants),
    overlaps: broken(1) + broken(7),
    inversions: broken(3),
    tokenRegressions: broken(2),
    lostWakeups: broken(4),
    notExactlyOnce: broken(5),
    leakedKeys: broken(6) + sum(results, ({ type, many }) => (type === 'keysWithoutTtl' ? many : 0)),
    unhandled: broken(8),
    excuses: excusesOf(histories),
    worstRecoveryMs: Object.fromEntries(withFigures.map(({ row, longest }) => [row, Math.round(longest)])),
    ...(notRun.length > 0 && { notRun }),
    seed: results.filter(({ type }) => type === 'seed').map(({ seed }) => seed),
  };
}

function excusesOf(histories) {
  const all = {};
  for (const { excuses } of histories) {
    for (const [excuse, times] of Object.entries(excuses)) all[excuse] = (all[excuse] ?? 0) + times;
  }
  return all;
}

function sum(list, of) {
  return list.reduce((total, one) => total + of(one), 0);
}
