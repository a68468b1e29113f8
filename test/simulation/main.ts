import { parseArgs } from 'node:util';
import { runCampaign, Subject, type Counts } from './campaign.js';
import { runJobs } from './jobs.js';
import { ALL_FAULT_KINDS, type FaultKind } from './scenario/faults.js';
import { drawPlan, type Plan, type PlanLimits } from './scenario/plan.js';
import { shrink } from './shrink.js';

const HELP = `npm run sim -- [options]
  --seeds N       how many (default 1000); a failing one is printed
  --seed S        the first; default: a random one, which is printed
  --jobs J        in so many processes (default 1)
  --trace         play only seed S and print everything that happened
  --shrink        play only seed S, cut its plan down while it still fails, and print what is left with its trace
  --shared        locks are shared in all seeds    --kept  some are kept (holdAtLeast)
  --crowd         many processes in all seeds    --single  no rows in any seed
  --only a,b      only these kinds of faults, or none
kinds of faults: ${ALL_FAULT_KINDS.join(' ')}`;

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1000' },
    seed: { type: 'string' },
    jobs: { type: 'string', default: '1' },
    trace: { type: 'boolean', default: false },
    shrink: { type: 'boolean', default: false },
    only: { type: 'string' },
    shared: { type: 'boolean', default: false },
    kept: { type: 'boolean', default: false },
    crowd: { type: 'boolean', default: false },
    single: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

const first = values.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : number('seed', values.seed);
const limits: PlanLimits = {
  ...(values.only !== undefined && { only: kinds(values.only) }),
  shared: values.shared,
  kept: values.kept,
  crowd: values.crowd,
  single: values.single,
};

if (values.help) console.log(HELP);
else if (values.trace) await showTrace(new Subject(), drawPlan(first, limits));
else if (values.shrink) await showShrunk();
else await showCampaign();

async function showCampaign(): Promise<void> {
  const started = performance.now();
  const seeds = number('seeds', values.seeds);
  const jobs = number('jobs', values.jobs);
  const counts = jobs > 1 ? await runJobs(jobs, first, seeds, passedOn()) : await runHere(seeds);
  const seconds = (performance.now() - started) / 1000;
  const rate = Math.round((counts['grants'] ?? 0) / seconds);
  console.log(
    `${counts['seeds']} seeds from ${first} in ${seconds.toFixed(0)} s (${rate} grants/s); ${counts['failedSeeds']} failed`,
  );
  console.log(JSON.stringify(Object.fromEntries(Object.entries(counts).sort())));
  if (counts['failedSeeds'] !== 0) process.exitCode = 1;
}

async function runHere(seeds: number): Promise<Counts> {
  const { counts } = await runCampaign(new Subject(), first, seeds, limits, ({ plan, violation }) => {
    const { invariant, at, text } = violation;
    const faults = [...new Set(plan.faults.map(({ kind }) => kind))].join(' ');
    console.log(`seed ${plan.seed}: ${invariant} at ${at.toFixed(1)} ms: ${text}\n  faults: ${faults}`);
  });
  return counts;
}

/** What each process of several is told as well. */
function passedOn(): string[] {
  const flags = (['shared', 'kept', 'crowd', 'single'] as const).flatMap((name) =>
    values[name] ? [`--${name}`] : [],
  );
  return [...flags, ...(values.only === undefined ? [] : ['--only', values.only])];
}

async function showTrace(subject: Subject, plan: Plan): Promise<void> {
  const { violations, trace } = await subject.play(plan, true);
  console.log(JSON.stringify(plan, undefined, 1));
  console.log(trace.join('\n'));
  for (const { invariant, at, text } of violations)
    console.log(`${invariant} at ${at.toFixed(1)} ms: ${text}`);
  if (violations.length > 0) process.exitCode = 1;
}

async function showShrunk(): Promise<void> {
  const subject = new Subject();
  const plan = drawPlan(first, limits);
  const [violation] = (await subject.play(plan)).violations;
  if (!violation) return console.log(`seed ${first} does not fail`);
  await showTrace(subject, await shrink(subject, plan, violation.invariant));
}

function number(option: string, text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value) || value < 0)
    throw new Error(`--${option} must be a number, not ${text}`);
  return value;
}

function kinds(text: string): FaultKind[] {
  if (text === 'none') return [];
  return text.split(',').map((name) => {
    const kind = ALL_FAULT_KINDS.find((known) => known === name);
    if (!kind) throw new Error(`no such fault: ${name}; there are ${ALL_FAULT_KINDS.join(' ')}`);
    return kind;
  });
}
