import { Subject } from '../simulation/campaign.js';
import { drawPlan } from '../simulation/scenario/plan.js';
import type { BySimulation } from './exhibit.js';
import type { Verdict } from './verdict.js';

/** The first seed, and the most that one exhibit is given. */
const FIRST = 1;
const MOST_SEEDS = 600;

/** Plays seeds until one breaks an invariant, and that one again with the code as it is. */
export async function noticedBySimulation(
  { only, denied, plans }: BySimulation,
  mutated: Subject,
  original: Subject,
): Promise<Verdict> {
  const flags = Object.keys(plans ?? {})
    .map((name) => ` --${name}`)
    .join('');
  for (let seed = FIRST; seed < FIRST + MOST_SEEDS; seed++) {
    const drawn = drawPlan(seed, { ...plans, ...(only && { only }) });
    const plan = denied ? { ...drawn, denied } : drawn;
    const [violation] = (await mutated.play(plan)).violations;
    if (!violation) continue;
    const where = `simulation, seed ${seed}${flags}${only ? ` --only ${only.join(',') || 'none'}` : ''}${denied ? ` without ${denied.join()}` : ''}`;
    const [ownFault] = (await original.play(plan)).violations;
    if (ownFault) throw new Error(`${where} breaks ${ownFault.invariant} with the code as it is, too`);
    return { killed: true, where, how: `${violation.invariant}: ${violation.text}` };
  }
  return { killed: false, where: `simulation, ${MOST_SEEDS} seeds`, how: '' };
}
