import { readFileSync } from 'node:fs';
import { loadEngine } from './code.js';
import { explore, replay } from './explore.js';
import { readProgram } from './program.js';
import { FAMILIES, type Family } from './programs.js';
import { moveText, PLAIN, readMove, type EngineScope } from './scope.js';

/** The families that are part of each check, with requests up to this number; `engine.spec.ts` has others. */
const CI: readonly (readonly [string, number])[] = [
  ['handles', 2],
  ['options', 2],
  ['late', 2],
  ['endless', 2],
  ['hurried', 1],
];

/** What `npm run explore -- --engine` was asked for, as it was written. */
export interface EngineArguments {
  readonly lib: string;
  readonly ci: boolean;
  readonly family?: string | undefined;
  readonly program?: string | undefined;
  readonly troubles: string;
  readonly hurried: string;
  readonly minutes: string;
  readonly replay?: string | undefined;
}

export async function exploreEngine(given: EngineArguments): Promise<void> {
  const { lib, program, family, ci } = given;
  if (program !== undefined && given.replay !== undefined)
    return await showReplay(given, program, given.replay);
  const scope: EngineScope = { ...PLAIN, troubles: Number(given.troubles), hurried: Number(given.hurried) };
  if (program !== undefined)
    return await show(lib, program, { programs: [readProgram(program)], scope }, given);
  if (ci) {
    for (const [name, requests] of CI) await show(lib, name, smallOf(familyOf(name), requests), given);
    return;
  }
  for (const name of family === undefined ? Object.keys(FAMILIES) : [family])
    await show(lib, name, familyOf(name), given);
}

function familyOf(name: string): Family {
  const family = FAMILIES[name];
  if (!family) throw new Error(`no such family: ${name}; there are ${Object.keys(FAMILIES).join(' ')}`);
  return family();
}

/** Only the programs with so many requests. */
export function smallOf({ programs, scope }: Family, requests: number): Family {
  return { programs: programs.filter(({ length }) => length <= requests), scope };
}

async function show(
  lib: string,
  name: string,
  family: Family,
  { minutes, ci }: EngineArguments,
): Promise<void> {
  const started = performance.now();
  const { programs, states, transitions, depth, complete, violation } = await explore(
    loadEngine(lib),
    family,
    Number(minutes) * 60_000,
  );
  const seconds = ((performance.now() - started) / 1_000).toFixed(0);
  console.log(
    `engine, ${name}: ${programs} programs, ${states} states, ${transitions} transitions, depth ${depth}, ${seconds} s`,
  );
  if (!complete && !violation)
    console.log(`stopped at a bound: ${family.programs.length - programs} programs are left`);
  if (violation || (ci && !complete)) process.exitCode = 1;
  if (!violation) return;
  console.log(`${violation.text}\nin the program: ${violation.program}\none of the shortest ways there:`);
  for (const move of violation.trace) console.log(`  ${moveText(move)}`);
}

async function showReplay({ lib, troubles }: EngineArguments, program: string, file: string): Promise<void> {
  const moves = readFileSync(file === '-' ? 0 : file, 'utf8')
    .split('\n')
    .filter((line) => line.trim() !== '');
  const scope = { ...PLAIN, troubles: Number(troubles) };
  for await (const line of replay(loadEngine(lib), readProgram(program), scope, moves.map(readMove)))
    console.log(line);
}
