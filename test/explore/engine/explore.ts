import { checkState } from './checks.js';
import type { EngineCode } from './code.js';
import { programText, type Program } from './program.js';
import type { Family } from './programs.js';
import { Run } from './run.js';
import { moveText, Violation, type EngineScope, type Move } from './scope.js';
import { Search, type Found } from './search.js';

/** The sums over the programs of a family. */
export interface Explored {
  readonly programs: number;
  readonly states: number;
  readonly transitions: number;
  readonly depth: number;
  readonly complete: boolean;
  /** Of the first program in which something was found. */
  readonly violation: (Found & { readonly program: string }) | undefined;
}

/** Explores one program after the other, until something is found or `milliseconds` are over. */
export async function explore(
  code: EngineCode,
  { programs, scope }: Family,
  milliseconds = Infinity,
): Promise<Explored> {
  const started = performance.now();
  const sum = { programs: 0, states: 0, transitions: 0, depth: 0 };
  for (const program of programs) {
    if (performance.now() - started > milliseconds) return { ...sum, complete: false, violation: undefined };
    const { states, transitions, depth, violation } = await new Search(code, program, scope).run();
    sum.programs += 1;
    sum.states += states;
    sum.transitions += transitions;
    sum.depth = Math.max(sum.depth, depth);
    if (violation)
      return { ...sum, complete: false, violation: { ...violation, program: programText(program) } };
  }
  return { ...sum, complete: true, violation: undefined };
}

/** Makes moves one by one, and tells how far the calls are after each. */
export async function* replay(
  code: EngineCode,
  program: Program,
  scope: EngineScope,
  moves: readonly Move[],
): AsyncGenerator<string> {
  const run = new Run(code, program, scope);
  for (const move of moves) {
    await run.make(move);
    const calls = run.calls.map(({ state, error }) =>
      error === undefined ? state : `${state} with ${error}`,
    );
    const { waiting, grants } = run.store;
    const store = [...waiting.map(({ request }) => `${request.label} waits for ${request.key}`)];
    for (const { label, key, live } of grants) store.push(`${label} ${live ? 'has' : 'had'} ${key}`);
    yield `${moveText(move)}: ${calls.join(', ')}; store: ${store.join(', ') || 'nothing'}`;
    try {
      if (run.found) throw run.found;
      checkState(run, move);
    } catch (error) {
      if (!(error instanceof Violation)) throw error;
      yield `  ${error.message}`;
      return;
    }
  }
}
