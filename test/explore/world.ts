import type { Mutation } from '../simulation/world/load-client.js';
import { EMPTY_BOOK, readBook, writeBook, type Book } from './book.js';
import { Clients, type Facts } from './clients.js';
import { heldOf } from './held.js';
import { EMPTY_NETWORK, readNetwork, type Network } from './network.js';
import { PairMemo } from './pairs.js';
import { remembered } from './remembered.js';
import { clockCode, later, type Passed } from './scales.js';
import { ScriptRuns } from './script-runs.js';
import { EMPTY_SERVER, presentKeys, renamed, serverLater, serverRenamed, without } from './server.js';
import { Texts } from './texts.js';
import { Told } from './told.js';

/** A state of everything: the numbers of the texts of the server, of the book, and of each client and its network. */
export type State = readonly number[];

export const SERVER = 0;
export const BOOK = 1;
export const clientAt = (client: number): number => 2 + 2 * client;
export const networkAt = (client: number): number => 3 + 2 * client;

/** The parts of states, and what becomes of them. What was computed once is remembered, so most steps of a search are look-ups. */
export class World {
  private readonly telling: Told;
  private readonly moved = new PairMemo();
  private readonly renames = new PairMemo();
  private readonly fewer = new PairMemo();
  readonly held = remembered((id: number) => heldOf(this.texts.text(id)));
  readonly keys = remembered((id: number) => presentKeys(this.texts.text(id)));
  /** What is on its way. Nobody changes it. */
  readonly network = remembered((id: number): Readonly<Network> => readNetwork(this.texts.text(id)));
  /** What the search remembers of the past. Nobody changes it. */
  readonly book = remembered((id: number): Readonly<Book> => readBook(this.texts.text(id)));

  constructor(
    readonly texts: Texts,
    readonly clients: Clients,
    readonly runs: ScriptRuns,
  ) {
    this.telling = new Told(texts);
  }

  static of(lib: string, mutations: readonly Mutation[] = []): World {
    const texts = new Texts();
    const clients = new Clients(texts, lib, mutations);
    return new World(texts, clients, new ScriptRuns(texts, clients.scripts));
  }

  /** The same clients, with the scripts of another copy of the library. What clients do is remembered for both. */
  withScriptsOf(lib: string): World {
    const { scripts } = new Clients(this.texts, lib);
    return new World(this.texts, this.clients, new ScriptRuns(this.texts, scripts));
  }

  initial(clients: number): State {
    const client = this.clients.fresh();
    const network = this.texts.id(EMPTY_NETWORK);
    const state = [this.texts.id(EMPTY_SERVER), this.texts.id(writeBook(EMPTY_BOOK))];
    for (let i = 0; i < clients; i++) state.push(client, network);
    return state;
  }

  facts(client: number): Facts {
    return this.clients.facts(client);
  }

  serverLater(id: number, passed: Passed): number {
    return this.moves(this.moved, id, clockCode(passed), () => serverLater(this.texts.text(id), passed));
  }

  networkLater(id: number, passed: Passed): number {
    return this.moves(this.moved, id, clockCode(passed), () => later(this.texts.text(id), passed));
  }

  /** The server without one of its keys. */
  serverWithout(id: number, key: number): number {
    return this.moves(this.fewer, id, key, () => without(this.texts.text(id), key));
  }

  private moves(memo: PairMemo, id: number, code: number, text: () => string): number {
    return memo.of(id, code, () => this.texts.id(text()));
  }

  /** The same state as it is told, so that situations which are alike are equal. */
  told(state: State): State {
    return this.telling.told(state);
  }

  /** The same state with its clients in a fixed order. */
  sorted(state: State): State {
    const order: number[] = [];
    for (let client = 0; clientAt(client) < state.length; client++) order.push(client);
    order.sort(
      (a, b) =>
        this.texts.compare(state[clientAt(a)]!, state[clientAt(b)]!) ||
        this.texts.compare(state[networkAt(a)]!, state[networkAt(b)]!) ||
        a - b,
    );
    if (order.every((client, i) => client === i)) return state;
    const names = order.map((_, client) => order.indexOf(client));
    const code = names.reduce((sum, name) => sum * 4 + name, 1);
    const [server, book] = [state[SERVER]!, state[BOOK]!];
    const result = [
      this.moves(this.renames, server, code, () => serverRenamed(this.texts.text(server), names)),
      this.moves(this.renames, book, code, () => writeBook(readBook(renamed(this.texts.text(book), names)))),
    ];
    for (const client of order) result.push(state[clientAt(client)]!, state[networkAt(client)]!);
    return result;
  }
}
