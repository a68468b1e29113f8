/**
 * The order of the gate: first the steps that all others need; then the lanes beside each other; then, with the machine to
 * themselves, the files and commands that failed in a lane, once more.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { printStep, printTable, printVerdict } from './print.mjs';
import { runStep } from './run-step.mjs';
import { verdictOf } from './verdict.mjs';

const MINUTE = 60_000;

/** Runs and prints all; true if nothing failed. The limits, of a step and of the whole, are in minutes. */
export async function runGate({ first, lanes, stepLimit = 25, limit = 85 }) {
  const folder = mkdtempSync(join(tmpdir(), 'fair-lock-gate-'));
  const deadline = performance.now() + limit * MINUTE;
  /** Of each step that began: its run, and the second one if there was one. */
  const outcomes = [];

  async function run(lane, step, files) {
    console.log(`\n--- ${lane}: ${step.name}`);
    const left = Math.min(stepLimit * MINUTE, deadline - performance.now());
    const result = { lane, ...(await runStep(step, { folder, files, limit: Math.max(1, left) })) };
    printStep(result);
    return result;
  }

  async function runLane([lane, steps]) {
    for (const step of steps) outcomes.push({ result: await run(lane, step) });
  }

  async function runAgain(outcome) {
    const { step, failures } = outcome.result;
    if (!step.again) return;
    outcome.again = await run('again', step, filesOf(failures));
  }

  try {
    for (const step of first) {
      const outcome = { result: await run('first', step) };
      outcomes.push(outcome);
      if (hasFailed(outcome)) await runAgain(outcome);
      if (hasFailed(outcome)) return conclude(outcomes);
    }
    await Promise.all(Object.entries(lanes).map(runLane));
    for (const outcome of outcomes.filter(hasFailed)) await runAgain(outcome);
    return conclude(outcomes);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function conclude(outcomes) {
  const verdict = verdictOf(outcomes);
  printTable(outcomes);
  printVerdict(verdict);
  return verdict.failures.length === 0;
}

function hasFailed({ result, again = result }) {
  return again.failures.length > 0;
}

/** Files that failed; none if something else did, so that the step runs as a whole. */
function filesOf(failures) {
  return [...new Set(failures.flatMap(({ file }) => file ?? []))];
}
