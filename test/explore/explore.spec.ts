import { fileURLToPath } from 'node:url';
import type { Mutation } from '../simulation/world/load-client.js';
import { GraphCodec } from './graph.js';
import { later, NOW, toldMicros } from './scales.js';
import { PLAIN, type FaultKind, type Scope } from './scope.js';
import { replay } from './replay.js';
import { Search, type Result } from './search.js';
import { World } from './world.js';

const LIB = fileURLToPath(new URL('../../lib', import.meta.url));
/** A search that visits more states has lost its way. */
const BOUNDS = { milliseconds: Infinity, states: 60_000 };
/** 57,000 states take 15 s on a quiet core; this is for one that is shared, ms. */
const LONG_SEARCH = 400_000;

function search(
  only: readonly FaultKind[],
  mutations: readonly Mutation[] = [],
  more: Partial<Scope> = {},
): Result {
  const scope = { ...PLAIN, faults: only.length > 0 ? 1 : 0, only, ...more };
  return new Search(new World(LIB, mutations), scope).run(BOUNDS);
}

const inFile = (file: string, from: string, to: string): Mutation => ({
  file: `stores/redis/${file}`,
  from,
  to,
});
/** The age of a message by the monotonic clock only, which stands still while a host is suspended (F172). */
const MONOTONIC_AGE: readonly Mutation[] = [
  ['elapsedSince(observedAt, instant) > trusted', 'instant.monotonic - observedAt.monotonic > trusted'],
  ['if (disagreement(best.at, instant) > AGREEMENT) return Infinity;', ''],
  [
    'const elapsed = elapsedSince(best.at, instant);',
    'const elapsed = instant.monotonic - best.at.monotonic;',
  ],
].map(([from, to]) => ({ file: 'stores/redis-client/server/server-clock.ts', from: from!, to: to! }));
const SCRIPTS = 'scripts/scripts.generated.ts';
/** A script grants a lock that is held. */
const HELD = [
  'local free = not kinds and (not held or leaseEnd <= now)\nif free and waiting == 0',
  'local free = true\nif free and waiting == 0',
] as const;

describe('the exploration', () => {
  test('visits every state of a small scope, and finds nothing in the code as it is', () => {
    const { complete, violation, ends, states } = search([]);
    expect(violation).toBeUndefined();
    expect(complete).toBe(true);
    expect(ends).toBeGreaterThan(0);
    expect(states).toBeGreaterThan(100);
  });

  test('finds two holders where a script grants a lock that is held', () => {
    const held = inFile(SCRIPTS, ...HELD);
    expect(search([], [held]).violation).toMatchObject({ invariant: 'two holders' });
  });

  test('finds a request that is served too late where a waiter relies on its message', () => {
    const silent = inFile(
      'view/machine.ts',
      'return isInLine(view) || isShared || late !== undefined',
      'return late !== undefined',
    );
    expect(search(['lose-message'], [silent]).violation).toMatchObject({ invariant: 'gap' });
    expect(search(['lose-message']).violation).toBeUndefined();
  });

  test(
    'finds the section on a lease that is over, which a suspended host begins if only its monotonic clock counts',
    () => {
      // It begins after a section of another client, which has a higher token.
      const { violation } = search(['suspend'], MONOTONIC_AGE, { clients: 3 });
      expect(violation).toMatchObject({ invariant: 'tokens' });
    },
    LONG_SEARCH,
  );

  test('a trace is replayed to the same violation, with the state after each move', () => {
    const held = inFile(SCRIPTS, ...HELD);
    const { violation } = search([], [held]);
    const steps = [...replay(new World(LIB, [held]), PLAIN, violation!.trace)];
    expect(steps.join('\n')).toContain(violation!.text);
    expect(steps.length).toBeGreaterThanOrEqual(violation!.trace.length);
  });

  test('gives the same trace each time', () => {
    const held = inFile(SCRIPTS, ...HELD);
    const [one, other] = [search([], [held]), search([], [held])];
    expect(one.violation).toBeDefined();
    expect(one.violation).toEqual(other.violation);
  });
});

describe('a state as it is told', () => {
  test('a graph that is written and read is the same graph', () => {
    const shared = { since: 1 };
    const graph = {
      one: shared,
      other: [shared, undefined, Infinity],
      names: new Map([['a', shared]]),
      ending: new Set([1, 2]),
    };
    const codec = new GraphCodec([]);
    const copy = codec.read(codec.write(graph)) as typeof graph;
    expect(copy).toEqual(graph);
    expect(copy.other[0]).toBe(copy.one);
    expect(copy.names.get('a')).toBe(copy.one);
    expect([...copy.ending]).toEqual([1, 2]);
  });

  test('each clock goes on by itself', () => {
    const text = `${NOW.server} ${NOW.micros} ${NOW.monotonic} ${NOW.wall} 30000`;
    expect(later(text, { server: 1_000, monotonic: 20, wall: 300 })).toBe(
      `${NOW.server - 1_000} ${NOW.micros - 1_000_000} ${NOW.monotonic - 20} ${NOW.wall - 300} 30000`,
    );
  });

  test('of tickets and tokens only the order counts, and what follows without a gap', () => {
    const [a, b, c] = [NOW.micros - 50_000_000, NOW.micros - 7_000, NOW.micros];
    const told = toldMicros([a, b, b + 1, c], new Set())!;
    const values = [a, b, b + 1, c].map((value) => told.get(value) ?? value);
    expect(values).toEqual([...values].sort((one, other) => one - other));
    expect(values[2]! - values[1]!).toBe(1);
    expect(values[3]).toBeLessThan(NOW.micros);
    expect(toldMicros(values, new Set())).toBeUndefined();
  });
});
