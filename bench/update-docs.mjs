/**
 * Writes the figures of results/latest.json into the docs: those that docs/performance.md asks for, between the marks
 * `<!-- bench:name -->` and `<!-- /bench -->`, and all of them into docs/bench-results.md.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { NEWER } from './environment/nodes.mjs';
import { scenarioTable, toMarkdown, verdictTable } from './report/table.mjs';
import { SCENARIOS } from './scenarios/index.mjs';

const PAGE = new URL('../docs/performance.md', import.meta.url);
const ALL = new URL('../docs/bench-results.md', import.meta.url);
/** Left out of the page: diagnostics below a floor that is shown, and a fork with the figures of its origin. */
const NOT_ON_PAGE = ['empty-scripts', 'four-calls', 'sesamecare-redlock'];
const ROUTE = [
  ['perSecond', 'Node 20: requests/s'],
  ['cpuUs', 'CPU a request, µs'],
  ...NEWER.flatMap((line) => [
    [`perSecondNode${line}`, `Node ${line}: requests/s`],
    [`cpuUsNode${line}`, 'CPU a request, µs'],
    [`p50MsNode${line}`, 'p50, ms'],
    [`p99MsNode${line}`, 'p99, ms'],
  ]),
];
/** The columns of the tables on the page that differ from those of the scenario. */
const COLUMNS = {
  'route-unlocked': ROUTE,
  route: ROUTE,
  'route-hot': ROUTE,
  drain: [
    ['handoffMs100', 'ms a handoff'],
    ['serverUs100', 'server time, µs'],
    ['inversions100', 'out of turn'],
  ],
  'dead-waiters': [
    ['servedMs1', '1 killed, ms'],
    ['servedMs100', '100, ms'],
    ['servedMs1000', '1,000, ms'],
  ],
};
const PLOTS = {
  drain: 'cost-by-queue-length',
  'hot-key': 'hot-key',
  'dead-waiters': 'dead-waiters',
  starvation: 'starvation',
};
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
  if (name === 'missed') return missed();
  const scenario = SCENARIOS.find((one) => one.name === name);
  const { subjects, labels = report.labels } = report.scenarios[name];
  const shown = Object.fromEntries(
    Object.entries(subjects).filter(([subject]) => !NOT_ON_PAGE.includes(subject)),
  );
  const { columns } = scenario;
  return toMarkdown(scenarioTable({ columns: COLUMNS[name] ?? columns }, shown, labels));
}

function table(scenario) {
  const measured = report.scenarios[scenario.name];
  if (!measured) return `*${scenario.title}*: not in this run.`;
  const { subjects, commit, at, failed, labels = report.labels } = measured;
  if (failed) return `*${scenario.title}*: it failed: ${failed.split('\n')[0]}`;
  const again = at === report.at ? '' : ` Measured again, apart from the others, with lib/ at ${commit}.`;
  return `*${scenario.title}.* ${scenario.how}${again}\n\n${toMarkdown(scenarioTable(scenario, subjects, labels))}${plot(scenario)}`;
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

function plot({ name, title }) {
  return name in PLOTS ? `\n\n![${title}](../bench/results/${PLOTS[name]}.svg)` : '';
}

function missed() {
  const judged = report.targets.filter(({ passed }) => passed !== undefined);
  const failed = judged.filter(({ passed }) => !passed);
  const met = `${judged.length - failed.length} of ${judged.length} [targets](bench-results.md#targets) were met. The others:`;
  const { head, rows } = verdictTable(failed);
  return `${met}\n\n${toMarkdown({ head: head.slice(1), rows: rows.map((row) => row.slice(1)) })}`;
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
