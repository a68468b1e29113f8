import { values } from './options.js';
import { moveText, type Scope } from './scope.js';
import { Search, type Result } from './search.js';
import type { World } from './world.js';

/** Searches one scope, and prints what was found. The exit code tells of a violation. */
export function explore(world: World, scope: Scope): Result {
  const bounds = { milliseconds: Number(values.minutes) * 60_000, states: Number(values.states) };
  const result = new Search(world, scope).run(bounds, (soFar) => console.log(`… ${figures(world, soFar)}`));
  const { clients, requests, faults, kinds, distinct, plan } = scope;
  const troubles = plan ? plan.join(' + ') : `${faults} faults`;
  console.log(
    `${clients}x${requests}, ${kinds.join()}${distinct ? ' distinct' : ''}, ${troubles}: ${figures(world, result)}`,
  );
  const { violation, complete } = result;
  if (!complete && !violation) {
    console.log('stopped at a bound: not every state was visited');
    // The scopes of each check are small enough to be visited as a whole.
    if (values.ci) process.exitCode = 1;
  }
  if (!violation) return result;
  process.exitCode = 1;
  console.log(`${violation.text}\nthe shortest way there:`);
  for (const move of violation.trace) console.log(`  ${moveText(move)}`);
  return result;
}

function figures(world: World, { states, transitions, depth, milliseconds, ends }: Result): string {
  return (
    `${states} states, ${transitions} transitions, depth ${depth}, ${ends} ends, ${(milliseconds / 1_000).toFixed(0)} s, ` +
    `${world.runs.size} runs of scripts, ${world.texts.size} parts`
  );
}
