import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { join } from 'node:path';
import type { FaultKind } from './scenario/faults.js';
import { drawPlan } from './scenario/plan.js';
import { Simulation } from './scenario/simulation.js';
import { ClientLoader } from './world/load-client.js';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '200' },
    seed: { type: 'string' },
    trace: { type: 'boolean', default: false },
    only: { type: 'string' },
    without: { type: 'string' },
    lib: { type: 'string', default: fileURLToPath(new URL('../../lib', import.meta.url)) },
    failures: { type: 'string', default: '5' },
  },
});

const kinds = (text: string | undefined): FaultKind[] | undefined => text?.split(',') as FaultKind[] | undefined;
const only = kinds(values.only);
const without = kinds(values.without);
const loader = new ClientLoader(join(values.lib));
const slots = Array.from({ length: 6 }, () => loader.load());
const first = values.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(values.seed);
const count = values.trace ? 1 : Number(values.seeds);

const total: Record<string, number> = {};
const broken = new Map<string, number>();
let failures = 0;
const started = performance.now();
let seed = first;
for (; seed < first + count; seed++) {
  const plan = drawPlan(seed, { ...(only && { only }), ...(without && { without }) });
  if (values.trace) console.log(JSON.stringify(plan, undefined, 1));
  const outcome = await new Simulation(plan, slots, values.trace).run();
  if (values.trace) console.log(outcome.trace.join('\n'));
  for (const [name, value] of Object.entries(outcome.tally)) {
    total[name] = name === 'worstGap' ? Math.max(total[name] ?? 0, value) : (total[name] ?? 0) + value;
  }
  if (outcome.violations.length === 0) continue;
  failures += 1;
  const [violation] = outcome.violations;
  broken.set(violation?.invariant ?? '', (broken.get(violation?.invariant ?? '') ?? 0) + 1);
  const faults = [...new Set(plan.faults.map(({ kind }) => kind))];
  console.log(`seed ${seed}: ${violation?.invariant} at ${violation?.at.toFixed(1)}: ${violation?.text} [${faults.join(' ')}]`);
  if (failures >= Number(values.failures)) break;
}
console.log(Object.fromEntries(broken), `${seed - first} seeds, ${((performance.now() - started) / 1000).toFixed(1)} s`);
console.log(JSON.stringify({ ...total, seed: first }));
