/**
 * npm run bench [-- --quick] [--json] [--rounds 0.4] [--only drain,idle [--keep]] [--beside FOLDER,FOLDER]
 *
 * Runs the scenarios, prints tables and the verdict; a full run also writes results/latest.json, the plots and the
 * figures of docs/performance.md. --keep: so does this one, for the scenarios that it ran; the others stay, and each says
 * when it was measured. --rounds: so much of the rounds, at least three each. --beside: other checkouts of this package, built
 * there, are measured in the same rounds, beside raw and nothing else.
 */
import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { loadavg } from 'node:os';
import { parseArgs, promisify } from 'node:util';
import { buildPackage, installPeers } from './environment/installed.mjs';
import { Progress } from './report/progress.mjs';

const RESULTS = new URL('results/', import.meta.url);

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    only: { type: 'string' },
    keep: { type: 'boolean', default: false },
    rounds: { type: 'string', default: '1' },
    beside: { type: 'string' },
  },
});
// Before the subjects are imported, here and in the workers.
if (options.beside !== undefined) process.env.BENCH_BESIDE = options.beside;
const progress = new Progress(process.stderr);
const print = (text) => progress.print(text);

await installPeers(print);
await buildPackage(print);

// These need the libraries.
const { Lab } = await import('./environment/lab.mjs');
const { results, putInto } = await import('./report/results.mjs');
const { show } = await import('./report/show.mjs');
const { plots } = await import('./report/plots.mjs');
const { SCENARIOS } = await import('./scenarios/index.mjs');

const scenarios = chosen();
const share = shareOfRounds();
const lab = new Lab({ quick: options.quick, share, print });
lab.onRound = (round) => progress.round(round);
let interrupted = false;
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, async () => {
    interrupted = true;
    // Commands under way fail now, and nothing waits for them.
    process.on('unhandledRejection', () => {});
    await lab.close();
    process.exit(130);
  });
}

const ran = {};
const seconds = {};
const begun = performance.now();
try {
  print('starting Redis, building the Java worker …');
  await lab.open();
  for (const [i, scenario] of scenarios.entries()) {
    progress.scenario(i, scenarios.length, scenario.title);
    const from = performance.now();
    ran[scenario.name] = await scenario.run(lab).then(
      (measured) => ({ measured }),
      (error) => ({ failed: String(error?.stack ?? error) }),
    );
    seconds[scenario.name] = Math.round((performance.now() - from) / 1_000);
    if (interrupted) await new Promise(() => {});
    await lab.clear();
  }
} finally {
  if (!interrupted) await lab.close();
}
progress.end();

const report = results(scenarios, ran, {
  quick: options.quick,
  commit: await commit(),
  at: new Date().toISOString(),
  machine: lab.machine,
  loadAverage: loadavg(),
  seconds: Math.round((performance.now() - begun) / 1_000),
  secondsOf: seconds,
  share,
  skipped: lab.skipped,
});
if (options.json) console.log(JSON.stringify(report));
else console.log(show(scenarios, report));
const whole = !options.quick && options.beside === undefined;
if (whole && options.only === undefined) await keep(report);
else if (whole && options.keep) await keep(putInto(await latest(), report));
if (Object.values(ran).some(({ failed }) => failed)) process.exitCode = 1;

async function keep(report) {
  await mkdir(RESULTS, { recursive: true });
  await writeFile(new URL('latest.json', RESULTS), `${JSON.stringify(report, null, 1)}\n`);
  for (const [file, svg] of Object.entries(plots(report.scenarios, report.labels))) {
    await writeFile(new URL(file, RESULTS), svg);
  }
  await import('./update-docs.mjs');
  print('wrote bench/results and the figures of docs/performance.md');
}

async function latest() {
  return JSON.parse(await readFile(new URL('latest.json', RESULTS), 'utf8'));
}

function chosen() {
  const names = options.only?.split(',');
  const unknown = names?.filter((name) => !SCENARIOS.some((scenario) => scenario.name === name)) ?? [];
  if (unknown.length > 0) {
    const known = SCENARIOS.map(({ name }) => name).join(', ');
    throw new Error(`There is no scenario ${unknown.join(', ')}. The scenarios are: ${known}.`);
  }
  return SCENARIOS.filter(({ name, slow }) => (names ? names.includes(name) : !(options.quick && slow)));
}

function shareOfRounds() {
  const share = Number(options.rounds);
  if (share > 0 && share <= 1) return share;
  throw new Error(`--rounds is the part of the rounds to run, above 0 and up to 1, not ${options.rounds}.`);
}

/** The last one that changed what is measured. */
async function commit() {
  try {
    const { stdout } = await promisify(execFile)('git', ['log', '-1', '--format=%h', '--', 'lib']);
    return stdout.trim();
  } catch {
    return undefined;
  }
}
