import { nameOf, Violation } from './book.js';
import { movesOf } from './moves.js';
import { readNetwork } from './network.js';
import { Play } from './play.js';
import { isFault, moveCode, moveOf, type Move, type Scope } from './scope.js';
import { Numbers, StateStore } from './store.js';
import { clientAt, networkAt, SERVER, type State, type World } from './world.js';

export interface Bounds {
  readonly milliseconds: number;
  readonly states: number;
}

export interface Found {
  readonly invariant: string;
  readonly text: string;
  /** The shortest way there. */
  readonly trace: readonly Move[];
}

export interface Result {
  readonly states: number;
  readonly transitions: number;
  /** Moves of the longest history, each state counted by its shortest. */
  readonly depth: number;
  readonly milliseconds: number;
  /** Whether every reachable state was visited. */
  readonly complete: boolean;
  /** States without anything left to do. */
  readonly ends: number;
  readonly violation: Found | undefined;
}

/** Visits every reachable state, those with the fewest moves first. */
export class Search {
  private readonly store: StateStore;
  private readonly parents = new Numbers();
  private readonly codes = new Numbers();
  private readonly depths = new Numbers();
  /** The moves that are no faults, as pairs of states. */
  private readonly from = new Numbers();
  private readonly to = new Numbers();
  private readonly ends: number[] = [];

  constructor(
    private readonly world: World,
    private readonly scope: Scope,
  ) {
    this.store = new StateStore(2 + 2 * scope.clients);
  }

  run({ milliseconds, states }: Bounds, progress: (result: Result) => void = () => undefined): Result {
    const { store } = this;
    const started = performance.now();
    let transitions = 0;
    let next = 0;
    const result = (violation?: Found): Result => ({
      states: store.size,
      transitions,
      depth: this.depths.length > 0 ? this.depths.at(this.depths.length - 1) : 0,
      milliseconds: performance.now() - started,
      complete: next === store.size,
      ends: this.ends.length,
      violation,
    });
    this.add(this.world.sorted(this.world.initial(this.scope.clients)).state, -1, 0);
    for (; next < store.size; next++) {
      if (next % 1_000 === 0) {
        if (store.size >= states || performance.now() - started >= milliseconds) break;
        if (next > 0 && next % 100_000 === 0) progress(result());
      }
      const state = store.get(next);
      const moves = movesOf(this.world, state, this.world.bookOf(state), this.scope);
      for (const move of moves) {
        transitions += 1;
        try {
          const after = this.world.sorted(new Play(this.world, state, this.scope).after(move)).state;
          const index = this.add(after, next, moveCode(move));
          if (!isFault(move)) {
            this.from.add(next);
            this.to.add(index);
          }
        } catch (error) {
          if (!(error instanceof Violation)) throw error;
          return result({
            invariant: error.invariant,
            text: error.message,
            trace: [...this.traceTo(next), move],
          });
        }
      }
      const left = this.leftBehind(state);
      if (left === undefined) continue;
      this.ends.push(next);
      if (left) return result({ invariant: 'left behind', text: left, trace: this.traceTo(next) });
    }
    const stuck = next === store.size ? this.firstStuck() : undefined;
    if (stuck === undefined) return result();
    const text = 'from here on, whatever happens without another fault, somebody is never served';
    return result({ invariant: 'stuck', text, trace: this.traceTo(stuck) });
  }

  private add(state: State, parent: number, code: number): number {
    const { index, isNew } = this.store.add(state);
    if (isNew) {
      this.parents.add(parent);
      this.codes.add(code);
      this.depths.add(parent < 0 ? 0 : this.depths.at(parent) + 1);
    }
    return index;
  }

  /** The moves to a state. Each names the clients as the state before it does: the order of the clients changes on the way. */
  private traceTo(index: number): Move[] {
    const moves: Move[] = [];
    for (let at = index; this.parents.at(at) >= 0; at = this.parents.at(at))
      moves.unshift(moveOf(this.codes.at(at)));
    return moves;
  }

  /** Undefined: something may still happen by itself; '' if nothing is left behind; else what is. */
  private leftBehind(state: State): string | undefined {
    const { world, scope } = this;
    const living = new Set<number>();
    for (let client = 0; client < scope.clients; client++) {
      const facts = world.facts(state[clientAt(client)]!);
      const { commands, replies, messages, late } = readNetwork(world.texts.text(state[networkAt(client)]!));
      if (commands.length + replies.length + messages.length + late.length > 0) return undefined;
      if (facts.crashed) continue;
      if (!facts.idle || facts.asleep || !facts.up || facts.made < scope.requests) return undefined;
      living.add(client);
    }
    const { holds, waiting } = world.held(state[SERVER]!);
    const { setBack, requests } = world.bookOf(state);
    const [unsettled] = Object.keys(requests);
    if (unsettled) return `the call of ${unsettled} never settles`;
    // With its clock set back, the server carries out a late copy whose deadline was over; that grant ends with its lease.
    const hold = holds.find(({ client }) => living.has(client));
    if (hold && !setBack)
      return `the server has a grant of ${nameOf(hold.client, hold.sequence)}, which nobody holds`;
    const forgotten = waiting.find(({ client }) => living.has(client));
    return forgotten ? `${nameOf(forgotten.client, forgotten.sequence)} is in line, and nobody waits` : '';
  }

  /** The first state from which no state without anything left to do can be reached without another fault. */
  private firstStuck(): number | undefined {
    const size = this.store.size;
    const starts = new Int32Array(size + 1);
    for (let i = 0; i < this.to.length; i++) starts[this.to.at(i) + 1]! += 1;
    for (let i = 0; i < size; i++) starts[i + 1]! += starts[i]!;
    const sources = new Int32Array(this.to.length);
    const filled = starts.slice();
    for (let i = 0; i < this.to.length; i++) sources[filled[this.to.at(i)]!++] = this.from.at(i);
    const reaches = new Uint8Array(size);
    const open = [...this.ends];
    for (const end of open) reaches[end] = 1;
    for (let end = open.pop(); end !== undefined; end = open.pop()) {
      for (let i = starts[end]!; i < starts[end + 1]!; i++) {
        const source = sources[i]!;
        if (reaches[source]) continue;
        reaches[source] = 1;
        open.push(source);
      }
    }
    const stuck = reaches.indexOf(0);
    return stuck < 0 ? undefined : stuck;
  }
}
