import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { runCampaign, Subject, type Campaign } from './campaign.js';
import { MUTANTS } from './mutants.js';
import { FAULT_KINDS, type FaultKind } from './scenario/faults.js';
import { drawPlan, type Plan, type PlanLimits } from './scenario/plan.js';
import { shrink } from './shrink.js';

const HELP = `npm run sim -- [options]
  --seeds N       how many (default 1000); a failing one is printed
  --seed S        the first; default: a random one, which is printed
  --minutes M     stop after so long
  --failures N    stop after so many failing seeds (default 5)
  --trace         play only seed S and print everything that happened
  --shrink        play only seed S, cut its plan down while it still fails, and print what is left with its trace
  --only a,b      only these kinds of faults    --without a,b   none of these
  --mutants       put historic bugs back, one by one, and show that each is noticed
kinds of faults: ${FAULT_KINDS.join(' ')}`;

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1000' },
    seed: { type: 'string' },
    minutes: { type: 'string' },
    failures: { type: 'string', default: '5' },
    trace: { type: 'boolean', default: false },
    shrink: { type: 'boolean', default: false },
    only: { type: 'string' },
    without: { type: 'string' },
    mutants: { type: 'boolean', default: false },
    lib: { type: 'string', default: fileURLToPath(new URL('../../lib', import.meta.url)) },
    help: { type: 'boolean', default: false },
  },
});

const first = values.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : number('seed', values.seed);
const limits: PlanLimits = {
  ...(values.only !== undefined && { only: kinds(values.only) }),
  ...(values.without !== undefined && { without: kinds(values.without) }),
};

if (values.help) console.log(HELP);
else if (values.mutants) await showMutants();
else if (values.trace) await showTrace(new Subject(values.lib), drawPlan(first, limits));
else if (values.shrink) await showShrunk();
else await showCampaign();

async function showCampaign(): Promise<void> {
  const started = performance.now();
  const campaign = await runCampaign(new Subject(values.lib), {
    first,
    seeds: number('seeds', values.seeds),
    limits,
    mostFailures: number('failures', values.failures),
    mostTime: values.minutes === undefined ? Infinity : number('minutes', values.minutes) * 60_000,
    onFailure: ({ plan, violation }) => {
      const with_ = [...new Set(plan.faults.map(({ kind }) => kind))].join(' ');
      console.log(
        `seed ${plan.seed}: ${violation.invariant} at ${violation.at.toFixed(1)} ms: ${violation.text}\n  faults: ${with_}`,
      );
    },
  });
  const seconds = ((performance.now() - started) / 1000).toFixed(0);
  console.log(`${campaign.seeds} seeds from ${first} in ${seconds} s; ${campaign.failures.length} failed`);
  console.log(JSON.stringify(summary(campaign)));
  if (campaign.failures.length > 0) process.exitCode = 1;
}

function summary({ seeds, tally, broken, worstByFault }: Campaign): object {
  const of = (...invariants: string[]): number =>
    invariants.reduce((sum, name) => sum + (broken.get(name) ?? 0), 0);
  return {
    grants: tally.grants,
    overlaps: of('exclusion', 'self-fence'),
    inversions: of('order'),
    tokenRegressions: of('fencing'),
    lostWakeups: of('lost-wake-up'),
    leakedKeys: of('leak'),
    unhandled: of('unhandled'),
    worstRecoveryMs: Object.fromEntries([...worstByFault].sort().map(([kind, ms]) => [kind, Math.round(ms)])),
    seed: first,
    seeds,
    otherViolations: of('exactly-once', 'false-alarm', 'errors', 'closing'),
    excusedInversions: tally.excusedInversions,
    excusedOverlaps: tally.excusedOverlaps,
    faults: tally.faults,
    lost: tally.lost,
    commands: tally.commands,
  };
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
  const subject = new Subject(values.lib);
  const plan = drawPlan(first, limits);
  const [violation] = (await subject.play(plan)).violations;
  if (!violation) return console.log(`seed ${first} does not fail`);
  await showTrace(subject, await shrink(subject, plan, violation.invariant));
}

async function showMutants(): Promise<void> {
  let survivors = 0;
  for (const { name, only, mutations } of MUTANTS) {
    const { seeds, failures } = await runCampaign(new Subject(values.lib, mutations), {
      first: values.seed === undefined ? 1 : first,
      seeds: number('seeds', values.seeds),
      limits: { only },
      mostFailures: 1,
    });
    const [failure] = failures;
    if (!failure) survivors += 1;
    console.log(
      failure
        ? `noticed in seed ${seeds} by ${failure.violation.invariant}: ${name}`
        : `NOT NOTICED in ${seeds} seeds: ${name}`,
    );
  }
  if (survivors > 0) process.exitCode = 1;
}

function number(option: string, text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value) || value < 0)
    throw new Error(`--${option} must be a number, not ${text}`);
  return value;
}

function kinds(text: string): FaultKind[] {
  return text.split(',').map((name) => {
    const kind = FAULT_KINDS.find((known) => known === name);
    if (!kind) throw new Error(`no such fault: ${name}; there are ${FAULT_KINDS.join(' ')}`);
    return kind;
  });
}
