/** Puts the figures of results/latest.json between the marks `<!-- bench:name -->` and `<!-- /bench -->` of docs/performance.md. */
import { readFile, writeFile } from 'node:fs/promises';
import { scenarioTable, toMarkdown, verdictTable } from './report/table.mjs';
import { SCENARIOS } from './scenarios/index.mjs';

const DOCS = new URL('../docs/performance.md', import.meta.url);
const MARKS = /(<!-- bench:([\w-]+) -->\n)[\s\S]*?(<!-- \/bench -->)/g;

const report = JSON.parse(await readFile(new URL('results/latest.json', import.meta.url), 'utf8'));
const page = await readFile(DOCS, 'utf8');
await writeFile(
  DOCS,
  page.replace(MARKS, (_, begin, name, end) => `${begin}\n${part(name)}\n\n${end}`),
);

function part(name) {
  if (name === 'run') return run();
  if (name === 'targets') return toMarkdown(verdictTable(report.targets));
  if (name === 'set-ups') return setUps();
  const scenario = SCENARIOS.find((one) => one.name === name);
  const { subjects, commit, at, failed } = report.scenarios[name];
  if (failed) return `It failed: ${failed.split('\n')[0]}`;
  const again =
    at === report.at ? '' : `*Measured again, apart from the others, with lib/ at ${commit}.*\n\n`;
  return `${again}${scenario.how}\n\n${toMarkdown(scenarioTable(scenario, subjects, report.labels))}`;
}

function run() {
  const { machine, loadAverage, seconds, commit } = report;
  const load = loadAverage.map((value) => value.toFixed(1)).join(', ');
  return (
    `One run of ${Math.round(seconds / 60)} minutes, lib/ at ${commit}: ${machine.cores} cores (${machine.cpu}), ${machine.memoryGiB} GiB, Node ${machine.node}, ` +
    `Redis ${machine.redis} on loopback without persistence. Load average at its end: ${load}.`
  );
}

function setUps() {
  const rows = Object.entries(report.setUps).map(([name, setUp]) => [
    report.labels[name],
    report.skipped[name] ? `${setUp}. **Not in this run**: ${report.skipped[name]}` : setUp,
  ]);
  return toMarkdown({ head: ['', 'set-up'], rows });
}
