import { PLAIN, type FaultKind, type Scope } from '../explore/scope.js';
import { Search, type Result } from '../explore/search.js';
import { World } from '../explore/world.js';
import type { Exhibit } from './exhibit.js';
import { REPLICATION } from './replication.js';
import { SHARING } from './sharing.js';
import type { Verdict } from './verdict.js';

const CANCELLED: Scope = { ...PLAIN, cancels: 1 };

/** Fewer moments in which callers act: scopes with faults are ten times smaller. */
const COARSE = 3 * PLAIN.tick;
const FAULT: Scope = { ...PLAIN, faults: 1, tick: COARSE };
const CALM: readonly FaultKind[] = ['crash', 'suspend', 'freeze'];

/** Looked through in this order, the small ones first. */
const SCOPES: readonly Scope[] = [
  CANCELLED,
  { ...CANCELLED, fixedLease: 3_000 },
  { ...CANCELLED, requests: 2 },
  FAULT,
  { ...CANCELLED, swift: false },
  { ...CANCELLED, clients: 3 },
  { ...CANCELLED, kinds: ['1/2', '2/2'] },
  { ...CANCELLED, kinds: ['plain', 'read'] },
  { ...CANCELLED, kinds: ['plain', 'plain+keep'] },
  { ...CANCELLED, requests: 2, fixedLease: 3_000 },
  { ...FAULT, cancels: 1 },
  { ...FAULT, clients: 3, only: CALM },
  { ...FAULT, kinds: ['1/2', '2/2'] },
  { ...FAULT, kinds: ['plain', 'read'] },
  { ...FAULT, kinds: ['plain', '1/2+keep'] },
  { ...FAULT, requests: 2 },
  { ...CANCELLED, clients: 3, kinds: ['1/2', '2/2'] },
  { ...CANCELLED, clients: 3, kinds: ['plain', 'read'] },
  { ...FAULT, tick: PLAIN.tick },
  {
    ...FAULT,
    clients: 1,
    requests: 2,
    faults: 3,
    only: ['delay-reply', 'delay-message', 'flush', 'step-back'],
  },
  { ...FAULT, faults: 2, only: ['crash', 'lose-message', 'lose-reply', 'unsubscribe'] },
  { ...FAULT, clients: 3 },
];

const isShared = ({ kinds }: Scope): boolean => kinds.length > 1;

/** For rules of shared and kept locks, the scopes with such locks come first. */
const scopesFor = (exhibit: Exhibit): readonly Scope[] =>
  SHARING.includes(exhibit)
    ? [...SCOPES.filter(isShared), ...SCOPES.filter((scope) => !isShared(scope))]
    : SCOPES;

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

/** Whether only scripts are changed, so that the clients do as they do in the code as it is. */
const ofScripts = ({ mutations }: Exhibit): boolean => mutations.every(({ file }) => file.endsWith('.lua'));

/** Looks for exhibits by exploring copies of the library in which they are. */
export class Explorer {
  private readonly world: World;
  /** Scopes in which the code as it is breaks nothing. */
  private readonly clean = new Set<Scope>();

  /**
   * @param original the library as it is
   * @param most states of one scope
   */
  constructor(
    original: string,
    private readonly most: number,
  ) {
    this.world = World.of(original);
  }

  /** Searches one scope after the other for a state that breaks an invariant, and does not with the code as it is. */
  notices(exhibit: Exhibit, lib: string): Verdict {
    // What it remembers of one scope serves the next.
    const world = ofScripts(exhibit) ? this.world.withScriptsOf(lib) : World.of(lib);
    for (const scope of scopesFor(exhibit)) {
      const { violation, states } = explore(world, scope, this.most);
      if (!violation) continue;
      this.checkClean(scope);
      const { invariant, text, trace } = violation;
      return {
        killed: true,
        where: `exploration, ${optionsOf(scope)}: ${states} states, ${trace.length} moves`,
        how: `${invariant}: ${text}`,
      };
    }
    return { killed: false, where: `exploration, ${SCOPES.length} scopes`, how: '' };
  }

  private checkClean(scope: Scope): void {
    if (this.clean.has(scope)) return;
    const found = explore(this.world, scope, this.most).violation;
    if (found) throw new Error(`${optionsOf(scope)} breaks ${found.invariant} with the code as it is, too`);
    this.clean.add(scope);
  }
}

function optionsOf({
  clients,
  requests,
  faults,
  cancels,
  fixedLease,
  swift,
  tick,
  only,
  kinds,
}: Scope): string {
  const options = [
    `--scope ${clients}x${requests} --faults ${faults} --cancels ${cancels}`,
    fixedLease === undefined ? '' : ` --lease ${fixedLease}`,
    swift ? '' : ' --free',
    tick === PLAIN.tick ? '' : ` --tick ${tick}`,
    only ? ` --only ${only.join(',')}` : '',
    kinds.join() === 'plain' ? '' : ` --kinds ${kinds.join(',')}`,
  ];
  return options.join('');
}
