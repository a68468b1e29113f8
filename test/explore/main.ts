import { readFileSync } from 'node:fs';
import { exploreEngine } from './engine/main.js';
import { plansOf } from './faults.js';
import { HELP, scopeOf, values } from './options.js';
import { searchPlans } from './plans.js';
import { replay } from './replay.js';
import { explore } from './report.js';
import { readMove, type Scope } from './scope.js';
import { World } from './world.js';

/** What two minutes are enough for. */
const CI: readonly Partial<Scope>[] = [
  { clients: 3, requests: 1, faults: 0 },
  { clients: 2, requests: 1, faults: 1, cancels: 0 },
  { clients: 3, requests: 1, faults: 0, cancels: 0, kinds: ['read', 'plain'] },
  { clients: 3, requests: 1, faults: 0, kinds: ['1/2', '2/2'] },
  {
    clients: 2,
    requests: 1,
    faults: 1,
    cancels: 0,
    kinds: ['1/2', 'plain'],
    only: ['crash', 'lose-message', 'lose-reply'],
  },
];

if (values.help) console.log(HELP);
else if (values.engine) await exploreEngine(values);
else if (values.ci) await exploreAll();
else if (values.plans) await explorePlans(scopeOf());
else if (values.replay === undefined) explore(World.of(values.lib), scopeOf());
else showReplay(scopeOf(), readFileSync(values.replay === '-' ? 0 : values.replay, 'utf8'));

async function exploreAll(): Promise<void> {
  for (const scope of CI) explore(World.of(values.lib), { ...scopeOf(), ...scope });
  await exploreEngine(values);
}

async function explorePlans({ faults, only }: Scope): Promise<void> {
  const all = plansOf(faults, only);
  const from = values.from === undefined ? 0 : all.findIndex((plan) => plan.join() === values.from);
  if (from < 0)
    throw new Error(`--from is one of the plans, such as ${all.at(-1)!.join()}, not ${values.from}`);
  const { states, transitions, searches, complete } = await searchPlans(
    all.slice(from),
    process.argv.slice(2),
  );
  console.log(`${states} states, ${transitions} transitions; ${complete} of ${searches} plans to the end`);
  if (complete < searches) process.exitCode = 1;
}

function showReplay(scope: Scope, text: string): void {
  const moves = text.split('\n').filter((line) => line.trim() !== '');
  for (const line of replay(World.of(values.lib), scope, moves.map(readMove))) console.log(line);
}
