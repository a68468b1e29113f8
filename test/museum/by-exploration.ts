import { PLAIN, type Scope } from '../explore/scope.js';
import { Search, type Result } from '../explore/search.js';
import { World } from '../explore/world.js';
import type { Exhibit } from './exhibit.js';
import { REPLICATION } from './replication.js';
import type { Verdict } from './verdict.js';

const CANCELLED: Scope = { ...PLAIN, cancels: 1 };

/** Looked through in this order, the small ones first. */
const SCOPES: readonly Scope[] = [
  CANCELLED,
  { ...CANCELLED, fixedLease: 3_000 },
  { ...CANCELLED, requests: 2 },
  { ...CANCELLED, swift: false },
  { ...CANCELLED, faults: 1, cancels: 0 },
  { ...CANCELLED, clients: 3 },
  { ...CANCELLED, requests: 2, fixedLease: 3_000 },
  { ...CANCELLED, faults: 1 },
  { ...CANCELLED, clients: 3, faults: 1, cancels: 0, only: ['crash', 'suspend', 'freeze'] },
  { ...CANCELLED, requests: 2, faults: 1, cancels: 0 },
  { ...CANCELLED, kinds: ['1/2', '2/2'] },
  { ...CANCELLED, kinds: ['plain', 'read'] },
  { ...CANCELLED, kinds: ['plain', 'plain+keep'] },
  { ...CANCELLED, clients: 3, kinds: ['1/2', '2/2'] },
  { ...CANCELLED, clients: 3, kinds: ['plain', 'read'] },
  { ...CANCELLED, faults: 1, cancels: 0, kinds: ['1/2', '2/2'] },
  { ...CANCELLED, faults: 1, cancels: 0, kinds: ['plain', 'read'] },
  { ...CANCELLED, faults: 1, cancels: 0, kinds: ['plain', '1/2+keep'] },
];

/** What the exploration holds of the library; of the other parts it knows nothing. */
const HELD =
  /^(core\/port\/lease|stores\/redis\/(commands|view|scripts|redis-lock-store)|stores\/redis-client\/(view|server)\/)/;

/** Whether all that the exhibit changes is part of what is explored, which knows neither replicas nor strict mode. */
export const isExplored = (exhibit: Exhibit): boolean =>
  !REPLICATION.includes(exhibit) &&
  exhibit.mutations.every(({ file }) => HELD.test(file)) &&
  !(exhibit.proof.by === 'simulation' && exhibit.proof.denied);

const explore = (world: World, scope: Scope, states: number): Result =>
  new Search(world, scope).run({ milliseconds: Infinity, states });

/** Scopes in which the code as it is breaks nothing. */
const clean = new Set<Scope>();

/**
 * Searches one scope after the other for a state that breaks an invariant, and does not with the code as it is.
 *
 * @param most states of one scope
 */
export function noticedByExploration(lib: string, original: string, most: number): Verdict {
  // What it remembers of one scope serves the next.
  const world = new World(lib);
  for (const scope of SCOPES) {
    const { violation, states } = explore(world, scope, most);
    if (!violation) continue;
    if (!clean.has(scope)) {
      const found = explore(new World(original), scope, most).violation;
      if (found) throw new Error(`${optionsOf(scope)} breaks ${found.invariant} with the code as it is, too`);
      clean.add(scope);
    }
    const { invariant, text, trace } = violation;
    return {
      killed: true,
      where: `exploration, ${optionsOf(scope)}: ${states} states, ${trace.length} moves`,
      how: `${invariant}: ${text}`,
    };
  }
  return { killed: false, where: `exploration, ${SCOPES.length} scopes`, how: '' };
}

function optionsOf({ clients, requests, faults, cancels, fixedLease, swift, only, kinds }: Scope): string {
  const options = [
    `--scope ${clients}x${requests} --faults ${faults} --cancels ${cancels}`,
    fixedLease === undefined ? '' : ` --lease ${fixedLease}`,
    swift ? '' : ' --free',
    only ? ` --only ${only.join(',')}` : '',
    kinds.join() === 'plain' ? '' : ` --kinds ${kinds.join(',')}`,
  ];
  return options.join('');
}
