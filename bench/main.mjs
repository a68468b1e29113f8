/**
 * npm run bench [-- --quick] [--only free-key,route] [--before older.tgz] [--write]
 *
 * --quick: one short round of each scenario. --before: a tarball of another version of this package, measured in the same rounds.
 * --write: also writes the tables into docs/performance.md and bench/results.md.
 */
import { execFileSync } from 'node:child_process';
import { cpus, totalmem } from 'node:os';
import { basename } from 'node:path';
import { parseArgs } from 'node:util';
import { prepare } from './prepare.mjs';

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
    only: { type: 'string' },
    before: { type: 'string' },
  },
});
const print = (text) => console.error(text);
await prepare({ before: options.before, print });

// These import what was installed.
const { Lab } = await import('./lab.mjs');
const { writePart } = await import('./page.mjs');
const { markdown, plain, tableOf } = await import('./report.mjs');
const { SCENARIOS } = await import('./scenarios/index.mjs');
const { SUBJECTS } = await import('./subjects.mjs');

const scenarios = chosen();
const lab = await Lab.open({ quick: options.quick });
try {
  const setting = await describeSetting();
  console.log(setting);
  for (const scenario of scenarios) {
    const table = tableOf(scenario.columns, await run(scenario));
    const { name, question, how } = scenario;
    console.log(`\n${question}\n${plain(table)}`);
    if (options.write) writePart(name, `### ${question}\n\n${how}\n\n${markdown(table)}\n\n${setting}`);
  }
  if (options.write) writePart('set-up', `### How each was set up\n\n${setUps()}`);
} finally {
  await lab.close();
}

function chosen() {
  const names = options.only?.split(',') ?? SCENARIOS.map(({ name }) => name);
  return names.map((name) => {
    const found = SCENARIOS.find((scenario) => scenario.name === name);
    if (found) return found;
    const known = SCENARIOS.map((scenario) => scenario.name).join(', ');
    throw new Error(`Unknown scenario ${name}. The scenarios are: ${known}.`);
  });
}

/** Every subject in every round, so that what disturbs the machine disturbs all. */
async function run(scenario) {
  const names = scenario.subjects.filter(isMeasured);
  const of = (name) => ({ ...SUBJECTS[name], name, rounds: [] });
  // The first once more: by how much it differs from itself is the noise of the machine.
  const again = { ...of(names[0]), again: true };
  const subjects = [of(names[0]), again, ...names.slice(1).map(of)];
  const rounds = options.quick ? 1 : scenario.rounds;
  for (let round = 0; round < rounds; round += 1) {
    for (const subject of inTurn(subjects, round)) {
      if (subject.failed) continue;
      print(`${scenario.name} ${round + 1}/${rounds}: ${subject.name}`);
      try {
        subject.rounds.push(await scenario.measure(lab, subject));
      } catch (error) {
        print(error.stack);
        process.exitCode = 1;
        subject.failed = true;
      }
      await lab.clear();
    }
  }
  return subjects.map((subject) => ({ ...subject, label: scenario.labels?.[subject.name] ?? subject.label }));
}

/** From another one on in each round, and backwards in every other, so that what one leaves behind is met by all. */
function inTurn(subjects, round) {
  const first = round % subjects.length;
  const turned = [...subjects.slice(first), ...subjects.slice(0, first)];
  return round % 2 === 0 ? turned : turned.reverse();
}

/** When and where this was measured. */
async function describeSetting() {
  const given = process.argv.slice(2).map((word) => (word === options.before ? basename(word) : word));
  const command = ['npm run bench', ...(given.length > 0 ? ['--', ...given] : [])].join(' ');
  const date = new Date().toISOString().slice(0, 10);
  const gib = Math.round(totalmem() / 2 ** 30);
  const machine = `${cpus().length} cores (${cpus()[0]?.model.trim()}), ${gib} GiB, Node ${process.version}, Redis ${await lab.version()} on loopback`;
  return `${date}, ${commit()}, \`${command}\`: ${machine}.`;
}

function commit() {
  return `commit ${execFileSync('git', ['log', '-1', '--format=%h'], { encoding: 'utf8' }).trim()}`;
}

function isMeasured(name) {
  return name !== 'before' || options.before !== undefined;
}

function setUps() {
  const measured = Object.entries(SUBJECTS).filter(([name]) => isMeasured(name));
  return measured.map(([, { label, setUp }]) => `- ${label}: ${setUp}.`).join('\n');
}
