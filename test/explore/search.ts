import { nameOf, Violation } from './book.js';
import { movesOf } from './moves.js';
import { Pairs } from './pairs.js';
import { Play } from './play.js';
import { moveOf, type Move, type Scope } from './scope.js';
import { Numbers, StateStore } from './store.js';
import { BOOK, clientAt, networkAt, SERVER, type State, type World } from './world.js';

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
  /** Those in which more than one thing may happen. */
  readonly states: number;
  readonly transitions: number;
  /** Moves of the longest history by which a state was found. */
  readonly depth: number;
  readonly milliseconds: number;
  /** Whether every reachable state was visited. */
  readonly complete: boolean;
  /** States without anything left to do. */
  readonly ends: number;
  readonly violation: Found | undefined;
}

/** Where a state has a single way on, so many moves of it are made at once. */
const LONGEST_STRETCH = 100;

/**
 * Visits every reachable state, those with the fewest choices first. A state in which only one thing can happen, and no fault, is passed
 * through and not kept.
 */
export class Search {
  private readonly play: Play;
  private readonly store: StateStore;
  private readonly parents = new Numbers();
  private readonly codes = new Numbers();
  private readonly depths = new Numbers();
  /** The moves that are no faults, as pairs of states. */
  private readonly from = new Numbers();
  private readonly to = new Numbers();
  private readonly ends = new Numbers();
  private readonly pairs = new Pairs();
  private transitions = 0;
  private deepest = 0;

  constructor(
    private readonly world: World,
    private readonly scope: Scope,
  ) {
    this.play = new Play(world, scope);
    this.store = new StateStore(2 + scope.clients);
  }

  run({ milliseconds, states }: Bounds, progress: (result: Result) => void = () => undefined): Result {
    const { store } = this;
    const started = performance.now();
    let next = 0;
    const result = (violation?: Found): Result => ({
      states: store.size,
      transitions: this.transitions,
      depth: this.deepest,
      milliseconds: performance.now() - started,
      complete: next === store.size,
      ends: this.ends.length,
      violation,
    });
    this.add(this.world.sorted(this.world.initial(this.scope.clients)), -1, 0, 0);
    for (; next < store.size; next++) {
      if (next % 1_000 === 0) {
        if (store.size >= states || performance.now() - started >= milliseconds) break;
        if (next > 0 && next % 100_000 === 0) progress(result());
      }
      const state = this.at(next);
      const moves = this.movesOf(state);
      for (const move of moves) {
        const stretch: Move[] = [];
        try {
          const after = this.after(state, move, stretch);
          const index = this.add(after, next, move.code, stretch.length);
          if (!move.isFault) {
            this.from.add(next);
            this.to.add(index);
          }
        } catch (error) {
          if (!(error instanceof Violation)) throw error;
          return result({
            invariant: error.invariant,
            text: error.message,
            trace: [...this.traceTo(next), ...stretch],
          });
        }
      }
      // Something happens by itself.
      if (moves.some(({ isFault, kind }) => !isFault && kind !== 'pass')) continue;
      const left = this.leftBehind(state);
      if (left === undefined) continue;
      this.ends.add(next);
      if (left) return result({ invariant: 'left behind', text: left, trace: this.traceTo(next) });
    }
    const stuck = next === store.size ? this.firstStuck() : undefined;
    if (stuck === undefined) return result();
    const text = 'from here on, whatever happens without another fault, somebody is never served';
    return result({ invariant: 'stuck', text, trace: this.traceTo(stuck) });
  }

  private movesOf(state: State): Move[] {
    return movesOf(this.world, state, this.world.book(state[BOOK]!), this.scope);
  }

  /**
   * The next state in which there is a choice.
   *
   * @param stretch receives the moves up to it
   */
  private after(state: State, move: Move, stretch: Move[]): State {
    let after = state;
    let next: Move | undefined = move;
    while (next) {
      this.transitions += 1;
      stretch.push(next);
      after = this.world.sorted(this.play.after(after, next));
      if (stretch.length === LONGEST_STRETCH) break;
      const moves = this.movesOf(after);
      next = moves.length === 1 && !moves[0]!.isFault ? moves[0] : undefined;
    }
    return after;
  }

  /** The state at this position: a client and its network are kept as a pair. */
  private at(index: number): State {
    const [server, book, ...clients] = this.store.get(index);
    return [server!, book!, ...clients.flatMap((pair) => [this.pairs.first(pair), this.pairs.second(pair)])];
  }

  private add(state: State, parent: number, code: number, moves: number): number {
    const packed = [state[SERVER]!, state[BOOK]!];
    for (let client = 0; client < this.scope.clients; client++)
      packed.push(this.pairs.id(state[clientAt(client)]!, state[networkAt(client)]!));
    const { index, isNew } = this.store.add(packed);
    if (isNew) {
      this.parents.add(parent);
      this.codes.add(code);
      const depth = parent < 0 ? 0 : this.depths.at(parent) + moves;
      this.depths.add(depth);
      this.deepest = Math.max(this.deepest, depth);
    }
    return index;
  }

  /** The moves to a state. Each names the clients as the state before it does: the order of the clients changes on the way. */
  private traceTo(index: number): Move[] {
    const moves: Move[] = [];
    for (let at = index; this.parents.at(at) >= 0; at = this.parents.at(at)) {
      const stretch: Move[] = [];
      this.after(this.at(this.parents.at(at)), moveOf(this.codes.at(at)), stretch);
      moves.unshift(...stretch);
    }
    return moves;
  }

  /** Undefined: something may still happen by itself; '' if nothing is left behind; else what is. */
  private leftBehind(state: State): string | undefined {
    const { world, scope } = this;
    const living = new Set<number>();
    for (let client = 0; client < scope.clients; client++) {
      const facts = world.facts(state[clientAt(client)]!);
      const { commands, replies, messages, late } = world.network(state[networkAt(client)]!);
      if (commands.length + replies.length + messages.length + late.length > 0) return undefined;
      if (facts.crashed) continue;
      if (!facts.idle || facts.asleep || !facts.up || facts.made < scope.requests) return undefined;
      living.add(client);
    }
    const { holds, waiting } = world.held(state[SERVER]!);
    const { setBack, requests } = world.book(state[BOOK]!);
    const [unsettled] = Object.keys(requests);
    if (unsettled) return `the call of ${unsettled} never settles`;
    // With its clock set back, the server carries out a late copy whose deadline was over. That grant ends with its lease, a place in line
    // with its window.
    if (setBack) return '';
    const hold = holds.find(({ client }) => living.has(client));
    if (hold) return `the server has a grant of ${nameOf(hold.client, hold.sequence)}, which nobody holds`;
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
    const open = new Int32Array(size);
    let last = 0;
    for (; last < this.ends.length; last++) reaches[(open[last] = this.ends.at(last))] = 1;
    while (last > 0) {
      const end = open[--last]!;
      for (let i = starts[end]!; i < starts[end + 1]!; i++) {
        const source = sources[i]!;
        if (reaches[source]) continue;
        reaches[source] = 1;
        open[last++] = source;
      }
    }
    const stuck = reaches.indexOf(0);
    return stuck < 0 ? undefined : stuck;
  }
}
