import { fileURLToPath } from 'node:url';
import type { Mutation } from '../../simulation/world/load-client.js';
import { loadEngine } from './code.js';
import { explore, replay, type Explored } from './explore.js';
import { smallOf } from './main.js';
import { readProgram } from './program.js';
import { FAMILIES } from './programs.js';
import { moveText, PLAIN, readMove, type EngineScope } from './scope.js';

const LIB = fileURLToPath(new URL('../../../lib', import.meta.url));
const shipped = loadEngine(LIB);
/** A core that is shared may take ten times as long, ms. */
const LONG = 300_000;

function exploreOne(
  text: string,
  mutations: readonly Mutation[] = [],
  more: Partial<EngineScope> = {},
): Promise<Explored> {
  const family = { programs: [readProgram(text)], scope: { ...PLAIN, ...more } };
  return explore(mutations.length > 0 ? loadEngine(LIB, mutations) : shipped, family);
}

/** A change of the engine, a program in which it shows, and the invariant that it breaks. */
interface Break {
  readonly what: string;
  readonly mutation: Mutation;
  readonly program: string;
  readonly invariant: string;
  readonly scope?: Partial<EngineScope>;
}

const HURRIED = { hurried: 1 } as const;
const change = (file: string, from: string, to: string): Mutation => ({ file: `core/${file}.ts`, from, to });

const BREAKS: readonly Break[] = [
  {
    what: 'F121: a request inside a lock that was entered again waits for its own flow',
    mutation: change(
      'holds/lock-handle',
      'if (hold && (!nearest || hold.isInside(nearest)))',
      'if (hold && !nearest)',
    ),
    program: 'a / 0: a / 1 via 0: a',
    invariant: 'own hold',
  },
  {
    what: 'F159: two branches that entered the lock around them again wait for each other',
    mutation: change('holds/lock-handle', 'locks.findLastIndex(', 'locks.findIndex('),
    program: 'ab forever / 0: a forever / 0: b forever / 2 via 0: a forever / 1 via 0: b forever',
    invariant: 'stuck',
    scope: { troubles: 0 },
  },
  {
    what: 'F240: a call whose lock was granted just before the close has a wrong error',
    mutation: change('engine/fair-lock-service', 'if (this.parts.shutdown.closed)', 'if (false)'),
    program: 'a',
    invariant: 'error',
    scope: HURRIED,
  },
  {
    what: 'a grant is released when the first of its holds ends',
    mutation: change('holds/shared-grants', 'if (this.openHolds > 0) return DONE;', ''),
    program: 'a / 0: a',
    invariant: 'released',
  },
  {
    what: 'a grant that comes after the drain time is kept',
    mutation: change('engine/acquirer', 'await detached(() => granted.release());', ''),
    program: 'a',
    invariant: 'shutdown',
    scope: { ...HURRIED, only: ['shutdown', 'close'] },
  },
  {
    what: 'a call that cannot have its second key keeps the first',
    mutation: change('engine/acquirer', 'await endInReverse(taken);', ''),
    program: 'ab',
    invariant: 'kept',
  },
  {
    what: 'calls take their keys in the order in which they name them',
    mutation: change('options/lock-keys', '[...targets.values()].sort(inOrder)', '[...targets.values()]'),
    program: 'ab forever / ba forever',
    invariant: 'stuck',
  },
  {
    what: 'a loss leaves those in line that wait to nest',
    mutation: change('holds/shared-grants', 'for (const line of grant.lines ?? []) line.fail(error);', ''),
    program: 'a forever / 0: a forever / 0: a forever',
    invariant: 'idle',
  },
  {
    what: 'the children of a section that ends are forgotten',
    mutation: change('holds/hold', 'for (const left of child.children ?? []) this.add(left);', ''),
    program: 'a forever / 0: a forever / 1: a forever / 0: a forever',
    invariant: 'exclusion',
    scope: { troubles: 0 },
  },
  {
    what: 'a reader stays behind a writer that gave up',
    mutation: change('holds/waiting-line', 'readers behind a writer that gives up.\n    this.pass();', ''),
    program: 'a forever / 0: a read forever / 0: a forever / 0: a read forever',
    invariant: 'idle',
    scope: { only: ['abort'] },
  },
  {
    what: 'maxHold counts from the first key',
    mutation: change('engine/acquirer', 'if (!call.taken) grant.limit();', 'grant.limit();'),
    program: 'ab limited long',
    invariant: 'told',
  },
  {
    what: 'the end of the drain time leaves the sections alone',
    mutation: change('waits/shutdown', 'this.grants.interrupt();', ''),
    program: 'a',
    invariant: 'told',
  },
  {
    what: 'a wait that has ended goes on listening to its caller',
    mutation: change('waits/wait', 'if (signal) unfollow(signal, this);', ''),
    program: 'a',
    invariant: 'left',
  },
];

describe('the exploration of the engine', () => {
  test.each(['plain', 'forever', 'shared'])(
    'visits every order of two requests of the family %s, and finds nothing in the code as it is',
    async (name) => {
      const { violation, complete, states } = await explore(shipped, smallOf(FAMILIES[name]!(), 2));
      expect(violation).toBeUndefined();
      expect(complete).toBe(true);
      expect(states).toBeGreaterThan(1_000);
    },
    LONG,
  );

  test.each(BREAKS)(
    'finds it if $what',
    async ({ mutation, program, scope, invariant }) => {
      expect((await exploreOne(program, [mutation], scope)).violation).toMatchObject({ invariant });
      expect((await exploreOne(program, [], scope)).violation).toBeUndefined();
    },
    LONG,
  );

  test('a trace is replayed to the same violation, with the calls after each move', async () => {
    const { mutation, program, scope } = BREAKS[2]!;
    const { violation } = await exploreOne(program, [mutation], scope);
    const moves = violation!.trace.map(moveText).map(readMove);
    expect(moves).toEqual(violation!.trace);
    const steps: string[] = [];
    const code = loadEngine(LIB, [mutation]);
    for await (const step of replay(code, readProgram(program), { ...PLAIN, ...scope }, moves))
      steps.push(step);
    expect(steps.at(-1)).toContain(violation!.text);
    expect(steps).toHaveLength(moves.length + 1);
  });
});
