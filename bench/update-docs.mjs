/**
 * Writes the figures of results/latest.json into the docs: those that docs/performance.md asks for, between the marks
 * `<!-- bench:name -->` and `<!-- /bench -->`, and all of them into docs/bench-results.md.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { scenarioTable, toMarkdown, verdictTable } from './report/table.mjs';
import { SCENARIOS } from './scenarios/index.mjs';

const PAGE = new URL('../docs/performance.md', import.meta.url);
const ALL = new URL('../docs/bench-results.md', import.meta.url);
/** Left out of the page: what stands below a floor that is shown, and a fork whose figures are those of its origin. */
const NOT_ON_PAGE = ['empty-scripts', 'four-calls', 'sesamecare-redlock'];
const MARKS = /(<!-- bench:([\w-]+) -->\n)[\s\S]*?(<!-- \/bench -->)/g;

const report = JSON.parse(await readFile(new URL('results/latest.json', import.meta.url), 'utf8'));
const page = await readFile(PAGE, 'utf8');
await writeFile(
  PAGE,
  page.replace(MARKS, (_, begin, name, end) => `${begin}${part(name)}\n${end}`),
);
await writeFile(ALL, allResults());

function part(name) {
  if (name === 'run') return run();
  if (name === 'met') return met();
  return table(
    SCENARIOS.find((scenario) => scenario.name === name),
    NOT_ON_PAGE,
  );
}

function table(scenario, leftOut = []) {
  const measured = report.scenarios[scenario.name];
  if (!measured) return `*${scenario.title}*: not in this run.`;
  const { subjects, commit, at, failed } = measured;
  if (failed) return `*${scenario.title}*: it failed: ${failed.split('\n')[0]}`;
  const shown = Object.fromEntries(Object.entries(subjects).filter(([name]) => !leftOut.includes(name)));
  const again = at === report.at ? '' : ` Measured again, apart from the others, with lib/ at ${commit}.`;
  return `*${scenario.title}.* ${scenario.how}${again}\n\n${toMarkdown(scenarioTable(scenario, shown, report.labels))}`;
}

function run() {
  const { machine, loadAverage, seconds, commit, share = 1 } = report;
  const load = loadAverage.map((value) => value.toFixed(1)).join(', ');
  const rounds = share < 1 ? ` with ${Math.round(100 * share)} % of the rounds` : '';
  return (
    `One run of ${Math.round(seconds / 60)} minutes${rounds}, lib/ at ${commit}: ${machine.cores} cores (${machine.cpu}), ${machine.memoryGiB} GiB, ` +
    `Node ${machine.node}, Redis ${machine.redis} on loopback without persistence. Load average at its end: ${load}.`
  );
}

function met() {
  const judged = report.targets.filter(({ passed }) => passed !== undefined);
  const failed = judged.filter(({ passed }) => !passed);
  return `${judged.length - failed.length} of ${judged.length} [targets](bench-results.md#targets) were met.`;
}

function allResults() {
  const parts = [
    '# All results of the last run',
    'Written by `npm run bench`. What they mean: [Performance](performance.md).',
    run(),
    '## Targets',
    toMarkdown(verdictTable(report.targets)),
    ...SCENARIOS.map((scenario) => `## ${scenario.title}\n\n${table(scenario)}`),
    '## How the libraries were set up',
    setUps(),
  ];
  return `${parts.join('\n\n')}\n`;
}

function setUps() {
  const rows = Object.entries(report.setUps).map(([name, setUp]) => [
    report.labels[name],
    report.skipped[name] ? `${setUp}. **Not in this run**: ${report.skipped[name]}` : setUp,
  ]);
  return toMarkdown({ head: ['', 'set-up'], rows });
}
