/** The output of the gate. Lines of a step have a bar before them: the closing line is the only one of its form. */

export function printStep(result) {
  const { lane, step, log, failures } = result;
  const head = `=== ${lane}: ${step.name}: ${failures.length > 0 ? 'FAILED' : 'passed'}, ${figures(result)}`;
  const lines = log.trimEnd().split('\n');
  console.log(`\n${[head, ...lines.map((line) => `| ${line}`)].join('\n')}`);
}

/** Each run of a step, in the order in which they ended. */
export function printTable(outcomes) {
  const runs = [...outcomes.map(({ result }) => result), ...outcomes.flatMap(({ again }) => again ?? [])];
  const widest = Math.max(...runs.map(({ step }) => step.name.length));
  console.log('\n=== the time of each step');
  for (const run of runs) {
    const failed = run.failures.length > 0 ? ', FAILED' : '';
    console.log(`  ${run.lane.padEnd(8)} ${run.step.name.padEnd(widest)} ${figures(run)}${failed}`);
  }
}

export function printVerdict({ passed, failures, unsteady }) {
  if (unsteady.length > 0) console.log('\n=== unsteady: failed, and passed alone');
  for (const one of unsteady) console.log(`  unsteady: ${one}`);
  if (failures.length > 0) console.log('\n=== failed');
  for (const one of failures) console.log(`  ${one}`);
  console.log(`\n${passed} passed, ${failures.length} failed`);
}

/** Processor time by time: a step at 2.0 fills two cores. */
function figures({ seconds, processor, passed }) {
  const took = `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, '0')}`;
  return `${took.padStart(5)} min, ${(processor / seconds).toFixed(1)} cores, ${passed} passed`;
}
