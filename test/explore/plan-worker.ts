import { scopeOf, values } from './options.js';
import type { PlanResult } from './plans.js';
import { explore } from './report.js';
import type { FaultKind } from './scope.js';
import { World } from './world.js';

/** What one search computed is of use to the next, up to so many texts: about 2 GB. */
const MOST_TEXTS = 2_000_000;

let world = World.of(values.lib);

process.on('message', (plan: FaultKind[]) => {
  if (world.texts.size > MOST_TEXTS) world = World.of(values.lib);
  const { states, transitions, complete, violation } = explore(world, { ...scopeOf(), plan });
  const result: PlanResult = { states, transitions, complete: complete && !violation };
  process.send!(result);
});
