import { scenarioTable, toText, verdictTable } from './table.mjs';

/** A run for the terminal. */
export function show(scenarios, report) {
  const parts = [];
  for (const scenario of scenarios) {
    const { subjects, failed, labels = report.labels } = report.scenarios[scenario.name];
    parts.push(`${scenario.title}  (${scenario.name})`);
    parts.push(failed ? `  failed: ${failed}` : toText(scenarioTable(scenario, subjects, labels)));
    parts.push(wrapped(scenario.how), '');
  }
  for (const [subject, why] of Object.entries(report.skipped)) {
    parts.push(`Skipped: ${report.labels[subject]}: ${why}.`);
  }
  parts.push('', 'Targets', toText(verdictTable(report.targets)));
  const { machine, loadAverage, seconds } = report;
  parts.push(
    '',
    `${machine.cores} cores (${machine.cpu}), Node ${machine.node}, Redis ${machine.redis}; load average ${loadAverage.map((load) => load.toFixed(1)).join(' ')}; ${seconds} s.`,
    'Times on a shared machine mean little; ratios within one run are what counts.',
  );
  return parts.join('\n');
}

function wrapped(text, width = 110) {
  const lines = [''];
  for (const word of text.split(' ')) {
    if (lines.at(-1).length + word.length >= width) lines.push('');
    lines[lines.length - 1] += lines.at(-1) === '' ? word : ` ${word}`;
  }
  return lines.map((line) => `  ${line}`).join('\n');
}
