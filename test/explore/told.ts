import { PairMemo, Pairs } from './pairs.js';
import { remembered } from './remembered.js';
import { microsIn, toldMicros, withMicros } from './scales.js';
import { exactIn } from './server.js';
import { Texts } from './texts.js';

/** The times in µs of a part of a state. */
interface Times {
  readonly values: readonly number[];
  /** Those of which more than the order counts: in what is on its way, and some of the server. */
  readonly exact: readonly number[];
}

/** New values for the times of a part; those that it does not name stay. */
type Changes = ReadonlyMap<number, number>;

/** Tells the times in µs of a state by their order, so that situations which are alike are equal. */
export class Told {
  private readonly timesTexts = new Texts();
  private readonly times = remembered((id) => JSON.parse(this.timesTexts.text(id)) as Times);
  private readonly changesTexts = new Texts();
  private readonly changes = remembered(
    (id) => new Map(JSON.parse(this.changesTexts.text(id)) as [number, number][]) as Changes,
  );
  private readonly unchanged = this.changesTexts.id('[]');
  private readonly tuples = new Pairs();
  /** For the times of all parts, one after the other: how each part changes; undefined: none does. */
  private readonly known: (readonly number[] | undefined | null)[] = [];
  private readonly changed = new PairMemo();
  private readonly ofServer = remembered((id: number) => this.timesOf(id, exactIn(this.texts.text(id))));
  private readonly ofNetwork = remembered((id: number) => this.timesOf(id, undefined));
  private readonly ofOthers = remembered((id: number) => this.timesOf(id, []));

  constructor(private readonly texts: Texts) {}

  /** @param state server, book, and a client and its network for each client */
  told(state: readonly number[]): readonly number[] {
    // The first number of a tuple tells how long it is.
    let tuple = -state.length;
    for (let i = 0; i < state.length; i++) tuple = this.tuples.id(tuple, this.timesAt(state, i));
    while (this.known.length <= tuple) this.known.push(null);
    let changes = this.known[tuple];
    if (changes === null) changes = this.known[tuple] = this.changesOf(state);
    return changes ? state.map((id, i) => this.partWith(id, changes[i]!)) : state;
  }

  private timesAt(state: readonly number[], i: number): number {
    if (i === 0) return this.ofServer(state[i]!);
    return i > 1 && i % 2 === 1 ? this.ofNetwork(state[i]!) : this.ofOthers(state[i]!);
  }

  private timesOf(id: number, exact: readonly number[] | undefined): number {
    const values = microsIn(this.texts.text(id));
    const times: Times = { values, exact: exact ?? values };
    return this.timesTexts.id(JSON.stringify(times));
  }

  private changesOf(state: readonly number[]): readonly number[] | undefined {
    const parts = state.map((_, i) => this.times(this.timesAt(state, i)));
    const union = new Set(parts.flatMap(({ values }) => values));
    const exact = new Set(parts.flatMap((part) => part.exact));
    const told = toldMicros(
      [...union].sort((a, b) => a - b),
      exact,
    );
    return told && parts.map(({ values }) => this.changesFor(values, told));
  }

  private changesFor(values: readonly number[], told: Changes): number {
    const pairs = values.flatMap((value) => (told.has(value) ? [[value, told.get(value)!] as const] : []));
    return this.changesTexts.id(JSON.stringify(pairs));
  }

  private partWith(id: number, changes: number): number {
    if (changes === this.unchanged) return id;
    return this.changed.of(id, changes, () =>
      this.texts.id(withMicros(this.texts.text(id), this.changes(changes))),
    );
  }
}
